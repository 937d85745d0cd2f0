"""What is kept of people and of the whole: handed out, deleted, backed up, and the commands that do it."""

import hashlib
import io
import json
import os
import re
import shlex
import sqlite3
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as site
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from courses import backups, personal_data, roster, services
from courses.errors import CourseError
from courses.models import Account, Course, Enrolment, OneTimeLink, Override
from labs.catalog import find_lab
from streamlab.runs import services as runs
from streamlab.runs.models import Run
from streamlab.runs.selectors import Owner
from tests.courses.conftest import PASSWORD, World

DOCS = site.BASE_DIR / "docs" / "howto" / "courses.md"


def command(*args: str, **kwargs: Any) -> str:
    out = io.StringIO()
    call_command(*args, stdout=out, **kwargs)
    return out.getvalue()


def practised(world: World, name: str) -> Run:
    lab = find_lab("flights")
    assert lab is not None
    run = runs.run_create(lab=lab, owner=Owner("v", world.users[name].pk))
    growth = runs.Growth(run.pk, expected_head=0, head=3, position=3, rows=[(0, "policy", None, 3)])
    assert runs.log_append([growth]).conflicts == set()
    return run


def by_hand(world: World, by: str, name: str) -> None:
    services.score_override(
        release=world.release, enrolment_id=world.enrolment(name).pk, points=None, reason="checked",
        by=world.users[by],
    )  # fmt: skip


# ---- a person's data -----------------------------------------------------------------------------


@pytest.mark.django_db
def test_everything_is_handed_out(world: World) -> None:
    run = practised(world, "sam")
    practised(world, "sue")
    by_hand(world, "ines", "sam")
    answer = world.client("sam").post("/account/export/")
    assert answer.headers["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    assert files["account.json"]["email"] == "sam@example.edu"
    assert files["courses.json"][0]["course__title"] == "Streams"
    assert files["overrides.json"][0]["reason"] == "checked"
    assert [(one["id"], one["log"]) for one in files["runs.json"]] == [(run.pk, [["policy", 3]])]
    text = json.dumps(files)
    assert "sue" not in text
    assert "ines" not in text
    assert world.users["sam"].password not in text


@pytest.mark.django_db
def test_exports_are_limited(world: World) -> None:
    client = world.client("sam")
    assert [client.post("/account/export/").status_code for _ in range(6)] == [200] * 5 + [429]


@pytest.mark.django_db
def test_nothing_personal_is_left(world: World) -> None:
    practised(world, "sam")
    by_hand(world, "ines", "sam")
    elsewhere, other = world.client("sam"), world.client("sue")
    sam = world.users["sam"]
    client = world.client("sam")
    assert b"not your password" in client.post("/account/delete/", {"old": "no"}).content
    answer = client.post("/account/delete/", {"old": PASSWORD})
    assert answer.headers["Location"] == "/account/sign-in/?done=deleted"
    assert elsewhere.get("/courses/").status_code == 302
    assert other.get("/courses/").status_code == 200
    assert Session.objects.count() == 1
    for model in apps.get_models():
        for row in model.objects.values():
            text = repr(row)
            assert "sam@example.edu" not in text
            assert not re.search(r"\bsam\b", text, re.I), model
            for field in model._meta.get_fields():
                if (
                    getattr(field, "remote_field", None)
                    and field.related_model is User
                    and field.concrete
                ):
                    assert row[field.attname] != sam.pk, model


@pytest.mark.django_db
def test_what_was_done_for_others_stays_without_a_name(world: World) -> None:
    by_hand(world, "ines", "sam")
    with pytest.raises(CourseError, match="Streams would be left without an instructor"):
        personal_data.delete(user=world.users["ines"])
    services.member_role(
        course=world.course, enrolment_id=world.enrolment("sue").pk, role="instructor"
    )
    personal_data.delete(user=world.users["ines"])
    override = Override.objects.get()
    assert (override.by, override.reason) == (None, "checked")
    page = (
        world.client("sue")
        .get(f"/courses/streams/gradebook/{world.enrolment('sam').pk}/")
        .content.decode()
    )
    assert "somebody who has left" in page


@pytest.mark.django_db
def test_other_apps_hand_out_and_delete_as_well(world: World, monkeypatch: Any) -> None:
    monkeypatch.setattr(personal_data, "_kept", dict(personal_data._kept))
    gone: list[int] = []
    personal_data.register("answers", lambda user_id: [user_id], gone.append)
    sam = world.users["sam"]
    pk = sam.pk
    with zipfile.ZipFile(io.BytesIO(personal_data.export(user=sam))) as archive:
        assert json.loads(archive.read("answers.json")) == [pk]
    personal_data.delete(user=sam)
    assert gone == [pk]


# ---- on the command line -------------------------------------------------------------------------


@pytest.mark.django_db
def test_an_instructor_is_made_by_a_link_and_no_password(client: Client) -> None:
    said = command("createinstructor", "Ines", "--shown-as", "Ines Weber")
    user = User.objects.get(username="ines")
    assert not user.has_usable_password()
    path = re.search(r"http://127\.0\.0\.1:8000(/account/link/\S+)", said)
    assert path is not None
    client.post(path.group(1), {"password": PASSWORD})
    page = client.get("/courses/").content.decode()
    assert "you teach it" in page
    assert "New course" in page
    # Again: another link; the first course goes to the first instructor alone.
    assert "once" in command("createinstructor", "ines")
    command("createinstructor", "otto", "--site", "https://s.example/")
    assert not Enrolment.objects.filter(user__username="otto").exists()
    assert Account.objects.get(user__username="otto").role == "instructor"
    with pytest.raises(CommandError, match="2 to 64"):
        command("createinstructor", "a b")


@pytest.mark.django_db
def test_a_student_becomes_an_instructor(world: World) -> None:
    command("createinstructor", "sam", "--site", "https://s.example/")
    account = Account.objects.get(user__username="sam")
    assert (account.role, account.name) == ("instructor", "Sam")


@pytest.mark.django_db
def test_commands_about_accounts(world: World, tmp_path: Path) -> None:
    assert "https://s.example/account/link/" in command(
        "passwordlink", "Sam", "--site", "https://s.example/"
    )
    file = tmp_path / "sam.zip"
    command("exportaccount", "sam", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(CommandError, match="name a new file"):
        command("exportaccount", "sam", str(file))
    with pytest.raises(CommandError, match="add --yes"):
        command("deleteaccount", "sam")
    assert command("deleteaccount", "sam", "--yes") == "sam has been deleted.\n"
    for name in ("passwordlink", "deleteaccount"):
        with pytest.raises(CommandError, match="no account named sam"):
            command(name, "sam")
    with pytest.raises(CommandError, match="--leave-courses"):
        command("deleteaccount", "ines", "--yes")
    command("deleteaccount", "ines", "--yes", "--leave-courses")
    assert not OneTimeLink.objects.exists()


@pytest.mark.django_db
def test_the_commands_of_the_how_to_do_what_it_says(world: World, tmp_path: Path) -> None:
    User.objects.create_user("ada")
    User.objects.create_user("grace")
    User.objects.filter(username__in=["ines", "grace"]).delete()
    blocks = re.findall(r"```console\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    told = [one for block in blocks for one in block.split("$ .venv/bin/python manage.py ")[1:]]
    assert len(told) == 6
    for one in told:
        line, _, printed = one.partition("\n")
        words = shlex.split(line)
        if words[0] in ("backup", "restore"):
            continue  # needs a database of its own: below
        words = [str(tmp_path / word) if word.endswith(".zip") else word for word in words]
        said = re.sub(r"/account/link/\S+/", "/account/link/…/", command(*words))
        assert said == printed or words[0] == "exportaccount"
    assert not User.objects.filter(username="ada").exists()


def test_the_roster_of_the_how_to_is_one() -> None:
    text = re.search(r"```csv\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    entries, bad = roster.read(re.sub("(?m)^  ", "", text.group(1)).encode())
    assert ([one.login for one in entries], bad) == (["ada", "grace"], [])


# ---- backups -------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_there_and_back(world: World, tmp_path: Path) -> None:
    file = tmp_path / "monday.zip"
    run = practised(world, "sam")
    said = command("backup", str(file))
    assert "personal data" in said
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    personal_data.delete(user=world.users["sam"])
    Course.objects.filter(slug="other").update(title="Renamed")
    with pytest.raises(CommandError, match="add --yes"):
        command("restore", str(file))
    assert not User.objects.filter(username="sam").exists()
    said = command("restore", str(file), "--yes")
    assert User.objects.filter(username="sam").exists()
    assert Run.objects.get().pk == run.pk
    assert Course.objects.get(slug="other").title == "Other"
    kept = Path(said.rstrip(".\n").split(" is in ")[1])
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    database = sqlite3.connect(kept)
    titles = [title for (title,) in database.execute("SELECT title FROM courses_course")]
    database.close()
    assert "Renamed" in titles
    for left in kept.parent.glob(f"{kept.name}*"):
        left.unlink()
    with pytest.raises(CommandError, match="name a new file"):
        command("backup", str(file))
    with pytest.raises(CommandError, match="name a new file"):
        command("backup", str(tmp_path / "no" / "folder.zip"))
    assert [path.name for path in tmp_path.iterdir()] == ["monday.zip"]


def rewritten(source: Path, target: Path, **changed: Any) -> Path:
    """A backup with another manifest or another database."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        manifest = json.loads(before.read(backups.MANIFEST))
        database = changed.pop("database", None) or before.read(backups.DATABASE)
        manifest |= changed
        after.writestr(backups.MANIFEST, json.dumps(manifest))
        after.writestr(backups.DATABASE, database)
    return target


@pytest.mark.django_db(transaction=True)
def test_backups_that_are_refused(world: World, tmp_path: Path) -> None:
    good = tmp_path / "good.zip"
    command("backup", str(good))
    with zipfile.ZipFile(good) as archive:
        migrations = json.loads(archive.read(backups.MANIFEST))["migrations"]
    damaged = b"SQLite format 3\0" + b"x" * 5000
    half = tmp_path / "half.zip"
    half.write_bytes(good.read_bytes()[: good.stat().st_size // 2])
    text = tmp_path / "text.zip"
    text.write_text("hello")
    empty = tmp_path / "empty.zip"
    zipfile.ZipFile(empty, "w").close()
    cases = [
        (half, "no zip"),
        (text, "no zip"),
        (empty, "no zip"),
        (rewritten(good, tmp_path / "a.zip", format=2), "newer StreamLab: this one does not know format 2"),
        (rewritten(good, tmp_path / "b.zip", migrations=[*migrations, ["courses", "0999_later"]]), "courses.0999_later"),
        (rewritten(good, tmp_path / "c.zip", database=damaged), "checksum"),
        (
            rewritten(
                good, tmp_path / "d.zip", database=damaged, sha256=hashlib.sha256(damaged).hexdigest()
            ),
            "damaged",
        ),
        (rewritten(good, tmp_path / "e.zip", migrations=[1]), "says too little"),
        (rewritten(good, tmp_path / "f.zip", format="1"), "says too little"),
        (tmp_path / "none.zip", "cannot be read"),
    ]  # fmt: skip
    users = User.objects.count()
    beside = set(os.listdir(site.VAR_DIR))
    for file, sentence in cases:
        with pytest.raises(CommandError, match=re.escape(sentence)):
            command("restore", str(file), "--yes")
    assert User.objects.count() == users
    assert set(os.listdir(site.VAR_DIR)) == beside


def test_postgresql_has_its_own_tools(monkeypatch: Any) -> None:
    database = connections["default"]
    monkeypatch.setattr(database, "vendor", "postgresql")
    monkeypatch.setattr(database, "display_name", "PostgreSQL")
    for name, more in (("backup", []), ("restore", ["--yes"])):
        with pytest.raises(CommandError, match="Use pg_dump"):
            command(name, "x.zip", *more)
