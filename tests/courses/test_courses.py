"""Courses: who comes in, what is released, what counts."""

import csv
import io
import shutil
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from courses import roster, selectors, services
from courses.errors import CATALOGUE, CourseError
from courses.late import Earned, LatePolicy
from courses.models import ALPHABET, Course, Enrolment, Release, new_join_code
from labs.catalog import find_lab
from labs.spec import load_lab
from streamlab.runs.bundles import bundle_archive
from streamlab.runs.models import Bundle, Run
from tests.courses.conftest import LAB, ScoresInMemory, World, release_fields

pytestmark = pytest.mark.django_db
DUE = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)  # 23:59 in Berlin
DAY = timedelta(days=1)


# ---- coming in -----------------------------------------------------------------------------------


def test_the_first_course_is_made_once() -> None:
    first = services.course_default()
    assert services.course_default() == first
    assert Course.objects.count() == 1


def test_join_codes_cannot_be_guessed() -> None:
    codes = {new_join_code() for _ in range(500)}
    assert len(codes) == 500
    assert all(len(code) == 14 and set(code) <= {*ALPHABET, "-"} for code in codes)
    assert len(ALPHABET) ** 12 >= 2**60
    assert not set("01IO") & set(ALPHABET)


def test_a_code_is_understood_however_it_is_written(world: World) -> None:
    code = world.course.join_code
    for written in (code, code.lower(), code.replace("-", ""), f" {code.replace('-', ' ')} "):
        assert services.course_by_code(code=written) == world.course
    for wrong in ("", "2222-2222-2222", code[:-1], "Ü" * 12):
        with pytest.raises(CourseError, match="No course can be joined"):
            services.course_by_code(code=wrong)


def test_a_renewed_code_replaces_the_old_one(world: World) -> None:
    client = world.client("ines")
    old = world.course.join_code
    client.post("/courses/streams/join-code/")
    world.course.refresh_from_db()
    assert world.course.join_code != old
    answer = world.client("olga").post("/courses/join/", {"code": old})
    assert answer.status_code == 400
    world.client("olga").post("/courses/join/", {"code": world.course.join_code})
    assert world.course.enrolments.filter(user=world.users["olga"], role="student").exists()


def test_joining_can_be_stopped_and_is_limited(world: World) -> None:
    services.course_change(course=world.course, title="S", time_zone="UTC", joinable=False)
    client = world.client("olga")
    answers = [
        client.post("/courses/join/", {"code": world.course.join_code}).status_code
        for _ in range(11)
    ]
    assert answers == [400] * 10 + [429]


def test_joining_again_changes_nothing(world: World) -> None:
    services.course_join(code=world.course.join_code, user=world.users["ines"])
    assert world.enrolment("ines").role == "instructor"


def upload(world: World, text: str) -> Any:
    file = SimpleUploadedFile("roster.csv", text.encode(), "text/csv")
    return world.client("ines").post("/courses/streams/roster/", {"file": file})


def test_a_roster_makes_accounts_and_invites_people(world: World) -> None:
    page = upload(world, "login;name\nada;Ada L.\nsam;Another name\nolga;Olga\n").content.decode()
    assert "1 account made, 1 invited" in page
    assert "1 on the roster already" in page
    assert page.count("/account/link/") == 1
    ada = User.objects.get(username="ada")
    assert not ada.has_usable_password()
    olga = Enrolment.objects.get(course=world.course, user=world.users["olga"])
    assert olga.state == "invited"
    assert world.users["sam"].account.name == "Sam"  # an upload renames nobody
    # An instructor cannot get at an account by putting it on a roster.
    answer = world.client("ines").post(f"/courses/streams/roster/{olga.pk}/link/")
    assert answer.status_code == 403
    assert "/account/link/" not in answer.content.decode()


def test_a_roster_with_a_bad_row_changes_nothing(world: World) -> None:
    before = User.objects.count(), Enrolment.objects.count()
    answer = upload(world, "login,name\nada,Ada\n=cmd,Eve\n,x\n")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "2 rows cannot be used; nothing has been changed" in page
    assert "Line 3:" in page
    assert "Line 4: The login is missing." in page
    assert (User.objects.count(), Enrolment.objects.count()) == before


def test_uploads_that_are_no_roster(world: World) -> None:
    for content, sentence in (
        ("a,b\n1,2\n", "names no column"),
        ("login,name\n" + "x" * roster.BYTES_MAX, "more than 1 MB"),
    ):
        answer = upload(world, content)
        assert answer.status_code == 400
        assert sentence in answer.content.decode()
    answer = world.client("sue").post("/courses/streams/roster/", {})
    assert answer.status_code == 404


def test_the_roster_comes_back_as_csv_without_formulas(world: World) -> None:
    world.users["sam"].account.name = "=HYPERLINK(1)"
    world.users["sam"].account.save()
    answer = world.client("ines").get("/courses/streams/roster.csv")
    rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert rows[0] == ["login", "name", "email", "role", "state"]
    assert ["sam", "'=HYPERLINK(1)", "sam@example.edu", "student", "active"] in rows
    assert answer.headers["Content-Disposition"] == 'attachment; filename="streams-roster.csv"'


def test_a_course_keeps_an_instructor(world: World) -> None:
    ines = world.enrolment("ines").pk
    client = world.client("ines")
    for action, data in (("remove", {}), ("role", {"role": "student"})):
        answer = client.post(f"/courses/streams/roster/{ines}/{action}/", data)
        assert answer.status_code == 409
        assert "without an instructor" in answer.content.decode()
    sam = world.enrolment("sam").pk
    client.post(f"/courses/streams/roster/{sam}/role/", {"role": "instructor"})
    client.post(f"/courses/streams/roster/{sam}/role/", {"role": "owner"})
    assert world.enrolment("sam").role == "instructor"
    assert client.post(f"/courses/streams/roster/{ines}/remove/").status_code == 302
    assert client.get("/courses/streams/").status_code == 404


def test_courses_of_the_same_title(world: World) -> None:
    titles = ["Streams", "New", "Join", "Invitations", "数据流"]
    slugs = [
        services.course_create(title=title, time_zone="UTC", by=world.users["ines"]).slug
        for title in titles
    ]
    assert len(set(slugs)) == 5
    assert not {"new", "join", "invitations"} & set(slugs)
    with pytest.raises(CourseError):
        services.course_create(title="T", time_zone="UTC", by=world.users["sam"])


# ---- releases ------------------------------------------------------------------------------------

RULES = {"grace_minutes": "0", "at_once": "0", "per_day": "10", "at_most": "50", "feedback": "full"}


def test_dates_are_meant_in_the_zone_of_the_course(world: World) -> None:
    address = f"/courses/streams/releases/{world.release.pk}/"
    world.client("ines").post(address, {**RULES, "due": "2026-12-01T23:59"})
    release = world.release
    assert release.due == DUE
    assert selectors.policy_of(release) == LatePolicy(per_day=10, at_most=50)
    page = world.client("sam").get("/courses/streams/").content.decode()
    assert "Tue 1 Dec 2026, 23:59 CET" in page
    assert 'value="2026-12-01T23:59"' in world.client("ines").get(address).content.decode()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"opens": "2026-12-02T00:00", "due": "2026-12-01T00:00"}, "Opening must not be later than the due date"),
        ({"due": "2026-12-02T00:00", "closes": "2026-12-01T00:00"}, "The due date must not be later than closing"),
        ({"opens": "2026-12-02T00:00", "closes": "2026-12-01T00:00"}, "Opening must not be later than closing"),
        ({"due": "2026-03-29T02:30"}, "couldn’t be interpreted"),  # the hour that was left out
        ({"due": "2026-10-25T02:30"}, "couldn’t be interpreted"),  # the hour that came twice
        ({"due": "tomorrow"}, "Enter a valid date/time."),
        ({"per_day": "101"}, "less than or equal to 100"),
        ({"per_day": "-1"}, "greater than or equal to 0"),
        ({"per_day": "9" * 400}, "Enter a whole number"),
        ({"feedback": "all"}, "Select a valid choice"),
    ],
)  # fmt: skip
def test_releases_that_are_refused(world: World, changed: dict[str, str], sentence: str) -> None:
    address = f"/courses/streams/releases/{world.release.pk}/"
    before = Release.objects.values().get()
    page = world.client("ines").post(address, {**RULES, **changed}).content.decode()
    assert sentence in page or "less than or equal" in page
    assert Release.objects.values().get() == before


def test_a_lab_is_released_once(world: World) -> None:
    with pytest.raises(CourseError, match="released"):
        services.release_create(course=world.course, lab=LAB, **release_fields())
    with pytest.raises(CourseError, match="no lab named nothing"):
        services.release_create(course=world.course, lab="nothing", **release_fields())
    with pytest.raises(IntegrityError), transaction.atomic():
        Release.objects.filter(pk=world.release.pk).update(due=DUE, closes=DUE - DAY)


def test_students_see_the_version_that_was_published(world: World, monkeypatch: Any) -> None:
    release = world.release
    published = release.version_id
    services.release_publish(release=release)
    assert world.release.version_id == published  # nothing has changed
    Release.objects.update(version=older_bundle())
    page = world.client("ines").get(f"/courses/streams/releases/{release.pk}/").content.decode()
    assert "The folder of the lab has changed since." in page
    assert selectors.release_of(user_id=world.users["sam"].pk, lab=LAB).version_id == "0" * 64
    world.client("ines").post(f"/courses/streams/releases/{release.pk}/publish/")
    assert world.release.version_id == published


def older_bundle() -> Any:
    return Bundle.objects.create(digest="0" * 64, lab=LAB, archive=b"")


@pytest.mark.django_db(transaction=True)
def test_the_published_version_is_what_a_students_new_runs_are_of(
    world: World, tmp_path: Path
) -> None:
    """Others, its instructor too, get the lab as its folder is now; a run that has begun keeps its version."""
    lab = find_lab(LAB)
    assert lab is not None
    folder = tmp_path / LAB
    shutil.copytree(lab.folder, folder)
    text = (folder / "lab.toml").read_text()
    (folder / "lab.toml").write_text(text.replace(lab.title, "Flights of last year"))
    older = bundle_archive(lab=load_lab(folder))
    Release.objects.update(version=older)

    def opened(name: str | None) -> str:
        return world.client(name).get(f"/labs/{LAB}/").content.decode()

    assert "Flights of last year" in opened("sam")
    for name in (None, "ines", "olga"):
        assert "Flights of last year" not in opened(name)
    made = {
        name: Run.objects.get(
            pk=world.client(name)
            .post(f"/labs/{LAB}/runs/", "{}", content_type="application/json")
            .json()["run"]
        )
        for name in ("sam", "olga")
    }
    assert made["sam"].bundle_id == older.pk
    assert made["olga"].bundle_id == lab.digest
    services.release_publish(release=world.release)
    assert "Flights of last year" in opened("sam")  # the run goes on as it began
    assert "Flights of last year" not in opened("sue")


def test_the_release_that_a_student_meets(world: World) -> None:
    sam = world.users["sam"]
    assert selectors.release_of(user_id=sam.pk, lab=LAB) == world.release
    assert selectors.release_of(user_id=world.users["ines"].pk, lab=LAB) is None
    assert selectors.release_of(user_id=world.users["olga"].pk, lab=LAB) is None
    services.course_join(code=world.other.join_code, user=sam)
    due = services.release_create(course=world.other, lab=LAB, **release_fields(due=DUE))
    assert selectors.release_of(user_id=sam.pk, lab=LAB) == due


def test_feedback_waits_for_its_date(world: World) -> None:
    services.release_change(
        release=world.release, **release_fields(feedback="full", feedback_from=DUE)
    )
    assert selectors.feedback_of(world.release, DUE - timedelta(seconds=1)) == "hidden"
    assert selectors.feedback_of(world.release, DUE) == "full"


def test_an_extension_is_for_one_student(world: World) -> None:
    services.release_change(release=world.release, **release_fields(due=DUE, closes=DUE + DAY))
    client = world.client("ines")
    address = f"/courses/streams/releases/{world.release.pk}/extensions/"
    data = {"student": world.enrolment("sam").pk, "due": "2026-12-05T12:00", "reason": "ill"}
    assert client.post(address, data).status_code == 302
    assert client.post(address, {**data, "due": "2026-12-06T12:00"}).status_code == 302
    sam, sue = world.users["sam"].pk, world.users["sue"].pk
    later = datetime(2026, 12, 6, 11, 0, tzinfo=UTC)
    mine = selectors.deadlines_get(release=world.release, user_id=sam)
    assert (mine.due, mine.closes) == (later, later)
    assert selectors.deadlines_get(release=world.release, user_id=sue).due == DUE
    assert (
        "Extension for you</b>: ill"
        in world.client("sam").get("/courses/streams/").content.decode()
    )
    assert "Extension for you" not in world.client("sue").get("/courses/streams/").content.decode()
    # Nobody but students of the course.
    for who in (world.enrolment("ines").pk, world.enrolment("olga").pk):
        assert b"Select a valid choice" in client.post(address, {**data, "student": who}).content
        with pytest.raises(CourseError):
            services.extension_give(
                release=world.release, enrolment_id=who, due=DUE, closes=None, reason="", by=world.users["ines"]
            )  # fmt: skip


# ---- scores --------------------------------------------------------------------------------------


def earn(scores: ScoresInMemory, world: World, name: str, **questions: Any) -> None:
    """earn(..., a=[(moment, fraction)])"""
    scores.full = {"a": 6, "b": 4}
    scores.attempts[world.users[name].pk] = {
        question: [Earned(at, Fraction(fraction)) for at, fraction in attempts]
        for question, attempts in questions.items()
    }


def test_the_gradebook(world: World, scores: ScoresInMemory) -> None:
    services.release_change(
        release=world.release, **release_fields(due=DUE, policy=LatePolicy(at_once=50))
    )
    early, late = DUE - DAY, DUE + DAY
    earn(scores, world, "sam", a=[(early, Fraction(1, 3)), (late, 1)], b=[(late, Fraction(1, 2))])
    table = selectors.gradebook(course=world.course)
    assert (table.full, list(table.fulls)) == ("10", ["10"])
    assert [(row.member.login, row.total) for row in table.rows] == [("sam", "4"), ("sue", "0")]
    page = world.client("ines").get("/courses/streams/gradebook/").content.decode()
    assert ">4</span>" in page
    rows = list(
        csv.DictReader(
            io.StringIO(
                world.client("ines")
                .get("/courses/streams/gradebook.csv")
                .content.decode("utf-8-sig")
            )
        )
    )
    assert [row["login"] for row in rows] == ["sam", "sue"]
    sam = rows[0]
    assert (sam["raw"], sam["penalty"], sam["final"], sam["full"]) == ("8", "4", "4", "10")
    assert (sam["attempts"], sam["late"], sam["due"]) == ("3", "late", "2026-12-01T23:59+01:00")


def test_a_student_sees_own_points_alone(world: World, scores: ScoresInMemory) -> None:
    earn(scores, world, "sam", a=[(DUE, 1)])
    mine = world.client("sam").get("/courses/streams/").content.decode()
    assert '<span class="num">6</span> of <span class="num">10</span>' in mine
    assert "Sue" not in mine
    hers = world.client("sue").get("/courses/streams/").content.decode()
    assert '<span class="num">0</span> of <span class="num">10</span>' in hers
    sam = world.enrolment("sam").pk
    view = world.client("ines").get(f"/courses/streams/as-student/{sam}/").content.decode()
    assert '<span class="num">6</span> of <span class="num">10</span>' in view
    assert "This is what Sam sees" in view


def test_points_by_hand_are_logged(world: World, scores: ScoresInMemory) -> None:
    earn(scores, world, "sam", a=[(DUE, 1)])
    client, sam = world.client("ines"), world.enrolment("sam").pk
    address = f"/courses/streams/gradebook/{sam}/override/"
    release = world.release.pk
    for points in ("7.5", "9", ""):
        data = {"release": release, "points": points, "reason": f"why {points}"}
        assert client.post(address, data).status_code == 302
    log = selectors.overrides(course=world.course, user_id=world.users["sam"].pk)
    assert [(one.before, one.points, one.reason, one.by) for one in log] == [
        ("9", "as earned", "why", "Ines"),
        ("7.5", "9", "why 9", "Ines"),
        ("6", "7.5", "why 7.5", "Ines"),
    ]
    page = world.client("sam").get("/courses/streams/").content.decode()
    assert "why 7.5" in page
    assert "<td>Ines</td>" not in page
    cell = selectors.score_get(release=world.release, user_id=world.users["sam"].pk)
    assert cell.points == "6"


@pytest.mark.parametrize(
    ("points", "reason", "sentence"),
    [
        ("11", "x", "Points lie between 0 and 10"),
        ("-1", "x", "greater than or equal to 0"),
        ("1.234", "x", "no more than 2 decimal places"),
        ("NaN", "x", "Enter a number"),
        ("1e5", "x", "between 0 and 10"),
        ("many", "x", "Enter a number"),
        ("5", "", "This field is required"),
        ("5", " ", "This field is required"),
        ("5", "x" * 301, "at most 300 characters"),
    ],
)
def test_overrides_that_are_refused(
    world: World, scores: ScoresInMemory, points: str, reason: str, sentence: str
) -> None:
    earn(scores, world, "sam")
    address = f"/courses/streams/gradebook/{world.enrolment('sam').pk}/override/"
    data = {"release": world.release.pk, "points": points, "reason": reason}
    answer = world.client("ines").post(address, data)
    assert answer.status_code == 400
    assert sentence in answer.content.decode()
    assert not world.release.overrides.exists()


def test_a_large_class_asks_the_database_no_more_often(
    world: World, scores: ScoresInMemory
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            selectors.gradebook(course=world.course)
        return len(captured)

    few = queries()
    entries = [roster.Entry(n, f"u{n}", f"U {n}") for n in range(30)]
    services.roster_take(course=world.course, entries=entries, by=world.users["ines"])
    assert queries() == few


# ---- words ---------------------------------------------------------------------------------------


def test_every_refusal_has_sentences() -> None:
    for code, refusal in CATALOGUE.items():
        for text in (refusal.sentence, refusal.mend):
            assert text.rstrip("}").endswith((".", "sentence")), code


def test_the_page_for_instructors_tells_every_refusal() -> None:
    call_command("coursedocs", check=True)
