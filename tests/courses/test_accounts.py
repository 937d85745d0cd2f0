"""Signing up, in and out, links, and what moves along."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail as outbox
from django.test import Client
from django.utils import timezone

from courses import accounts, adoption, mail, rates
from courses.errors import CourseError
from courses.models import Account, OneTimeLink
from streamlab.explorations.models import Exploration
from streamlab.explorations.selectors import explorations_of
from streamlab.runs import services as run_services
from streamlab.runs.models import Run
from streamlab.runs.selectors import Owner, run_is_of
from tests.courses.conftest import PASSWORD, World

pytestmark = pytest.mark.django_db
SIGN_IN, SIGN_UP = "/account/sign-in/", "/account/sign-up/"
NEW = {"login": "Ada", "name": "Ada Lovelace", "email": "", "password": PASSWORD}


def sign_in(client: Client, name: str, password: str = PASSWORD, **more: Any) -> Any:
    return client.post(SIGN_IN, {"login": name, "password": password, **more})


def signed_in_as(client: Client) -> str | None:
    pk = client.session.get("_auth_user_id")
    return None if pk is None else User.objects.get(pk=pk).username


def test_sign_up_signs_in_as_a_student(client: Client) -> None:
    response = client.post(SIGN_UP, NEW)
    assert response.headers["Location"] == "/courses/"
    assert signed_in_as(client) == "ada"
    account = Account.objects.get(user__username="ada")
    assert (account.name, account.role) == ("Ada Lovelace", "student")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"login": "sam"}, "This sign-in name is taken."),
        ({"login": "SAM"}, "This sign-in name is taken."),
        ({"login": "a b"}, "A sign-in name has 2 to 64"),
        ({"login": "аda"}, "A sign-in name has 2 to 64"),  # a Cyrillic letter
        ({"login": "-ada"}, "begins with a letter or a digit"),
        ({"name": "\u202eadA"}, "without control characters"),
        ({"name": "A\u200bda"}, "without control characters"),
        ({"name": " "}, "This field is required."),
        ({"email": "no"}, "Enter a valid email address."),
        ({"password": "short"}, "This password is too short."),
        ({"password": "password"}, "This password is too common."),
        ({"password": "8301927465"}, "This password is entirely numeric."),
        ({"login": "gate-window-17"}, "too similar to the username"),
        ({"password": "x" * 201}, "at most 200 characters"),
        ({"login": "x" * 65}, "at most 64 characters"),
    ],
)
def test_sign_ups_that_are_refused(
    world: World, client: Client, changed: dict[str, str], sentence: str
) -> None:
    response = client.post(SIGN_UP, {**NEW, **changed})
    assert sentence in response.content.decode().replace("&#x27;", "'")
    assert signed_in_as(client) is None
    assert User.objects.count() == 5


def test_sign_up_can_be_closed(client: Client, settings: Any) -> None:
    settings.SIGN_UP = False
    for response in (client.get(SIGN_UP), client.post(SIGN_UP, NEW)):
        assert response.status_code == 403
        assert b"takes no sign-ups" in response.content
    assert b"No account yet" not in client.get(SIGN_IN).content
    assert not User.objects.exists()


def test_an_unknown_name_is_answered_as_a_wrong_password(world: World) -> None:
    def answer(name: str) -> str:
        body = sign_in(Client(), name, "wrong").content.decode()
        return re.sub(r'value="[^"]*"', "", body)

    assert answer("sam") == answer("nobody") == answer("a b!")
    world.users["sam"].is_active = False
    world.users["sam"].save()
    assert "do not belong together" in sign_in(Client(), "sam").content.decode()


def test_signing_in_takes_the_name_however_it_is_written(world: World, client: Client) -> None:
    sign_in(client, " Sam ")
    assert signed_in_as(client) == "sam"


def test_the_session_gets_another_key_and_keeps_the_visitor(world: World, client: Client) -> None:
    session = client.session
    session["visitor"] = "somebody"
    session.save()
    before = session.session_key
    sign_in(client, "sam")
    assert client.session.session_key != before
    assert client.session["visitor"] == "somebody"
    after = client.session.session_key
    client.post("/account/sign-out/")
    assert client.session.session_key != after
    assert "visitor" not in client.session


@pytest.mark.django_db(transaction=True)
def test_practice_moves_into_the_account(world: World, client: Client) -> None:
    answer = client.post("/labs/flights/runs/", "{}", content_type="application/json")
    run_id = json.loads(answer.content)["run"]
    run = Run.objects.get(pk=run_id)
    exploration = Exploration.objects.create(
        lab=run.lab, bundle=run.bundle, policy=run.policy, run=run, visitor=run.visitor, request={},
        holder="", expires=run.expires,
    )  # fmt: skip
    live = Run.objects.get(pk=run_id)  # as a server that holds it in memory has it
    assert run.expires is not None
    client.post(SIGN_UP, NEW)
    run.refresh_from_db()
    ada = User.objects.get(username="ada")
    exploration.refresh_from_db()
    for adopted in (run, exploration):
        assert (adopted.user_id, adopted.expires) == (ada.pk, None)
    assert [one["id"] for one in explorations_of(user_id=ada.pk)] == [exploration.pk]
    # On another machine, where the visitor is another.
    assert run_is_of(owner=Owner("another", ada.pk), run=live)
    assert not run_is_of(owner=Owner(run.visitor), run=live)
    # Somebody else at the same machine gets nothing of it.
    client.post("/account/sign-out/")
    sign_in(client, "sam")
    run.refresh_from_db()
    assert run.user_id == ada.pk


def test_other_apps_adopt_as_well(world: World, client: Client, monkeypatch: Any) -> None:
    told: list[Any] = []
    monkeypatch.setattr(adoption, "_adopters", [])
    adoption.register(lambda **kwargs: told.append(kwargs))
    sign_in(client, "sam")
    assert told == []  # nothing was done without an account
    client = Client()
    session = client.session
    session["visitor"] = "v"
    session.save()
    sign_in(client, "sam")
    assert told == [{"visitor": "v", "user_id": world.users["sam"].pk}]
    assert run_services.run_adopt(visitor="v", user_id=1) == 0


def test_too_many_tries(world: World) -> None:
    client = Client()
    answers = [sign_in(client, "sam", "wrong").status_code for _ in range(8)]
    assert answers == [400] * 6 + [429] * 2
    assert "Wait a minute" in sign_in(client, "sam").content.decode()
    assert sign_in(client, "sue").status_code == 302  # another account
    # A class shares an address: whoever has a session of their own is not kept out.
    other = Client()
    session = other.session
    session["visitor"] = "other"
    session.save()
    assert sign_in(other, "sam").status_code == 302


def test_guessing_with_new_cookies_each_time_ends_as_well(world: World) -> None:
    answers = []
    for number in range(70):
        client = Client()
        session = client.session
        session["visitor"] = f"v{number}"
        session.save()
        answers.append(sign_in(client, "sam", "wrong").status_code)
    assert answers[:60] == [400] * 60
    assert answers[-1] == 429


def test_signing_up_is_limited(client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(rates, "SIGN_UP", rates.Rate(1, 1))
    client.post(SIGN_UP, NEW)
    answer = Client().post(SIGN_UP, {**NEW, "login": "other"})
    assert answer.status_code == 429
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("wanted", "leads_to"),
    [
        ("/labs/flights/", "/labs/flights/"),
        ("/courses/join/?code=A", "/courses/join/?code=A"),
        ("https://evil.example/", "/courses/"),
        ("//evil.example/", "/courses/"),
        ("/\\evil.example", "/courses/"),
        ("///evil.example", "/courses/"),
        ("javascript:alert(1)", "/courses/"),
        ("http:evil.example", "/courses/"),
        ("\thttps://evil.example", "/courses/"),
        ("labs", "/courses/"),
        ("", "/courses/"),
    ],
)
def test_nobody_is_led_off_the_site(
    world: World, client: Client, wanted: str, leads_to: str
) -> None:
    assert sign_in(client, "sam", next=wanted).headers["Location"] == leads_to
    assert client.get(SIGN_IN, {"next": wanted}).headers["Location"] == leads_to
    fresh = Client().get(SIGN_IN, {"next": wanted}).content.decode()
    assert "evil" not in fresh
    assert "javascript:" not in fresh


# ---- links ---------------------------------------------------------------------------------------


def test_a_link_sets_a_password_once(world: World, client: Client) -> None:
    sam = world.users["sam"]
    elsewhere = world.client("sam")
    token = accounts.link_make(user=sam)
    path = f"/account/link/{token}/"
    for _ in range(2):  # looking uses nothing up
        page = client.get(path)
        assert page.status_code == 200
        assert page.headers["Referrer-Policy"] == "same-origin"  # the token goes nowhere else
    assert "too short" in client.post(path, {"password": "short"}).content.decode()
    assert client.post(path, {"password": "another-window-18"}).status_code == 302
    assert signed_in_as(client) == "sam"
    assert elsewhere.get("/courses/").status_code == 302  # has to sign in again
    for answer in (Client().get(path), Client().post(path, {"password": "third-window-19"})):
        assert answer.status_code == 404
        assert b"has been used" in answer.content
    assert sign_in(Client(), "sam", "another-window-18").status_code == 302


def test_of_two_uses_at_once_one_wins(world: World, monkeypatch: Any) -> None:
    token = accounts.link_make(user=world.users["sam"])
    link = accounts.link_get(token=token)
    accounts.link_use(token=token, password="another-window-18")
    monkeypatch.setattr(accounts, "link_get", lambda *, token: link)
    OneTimeLink.objects.filter(pk=link.pk).update(used=timezone.now())
    with pytest.raises(CourseError, match="has been used"):
        accounts.link_use(token=token, password="third-window-19")


def test_links_end(world: World) -> None:
    sam = world.users["sam"]
    first = accounts.link_make(user=sam)
    second = accounts.link_make(user=sam)
    with pytest.raises(CourseError):  # replaced
        accounts.link_get(token=first)
    OneTimeLink.objects.update(expires=timezone.now() - timedelta(seconds=1))
    with pytest.raises(CourseError):
        accounts.link_get(token=second)
    third = accounts.link_make(user=sam)
    accounts.password_set(user=sam, password="another-window-18")
    with pytest.raises(CourseError):
        accounts.link_get(token=third)
    assert not OneTimeLink.objects.filter(digest__contains=third[:8]).exists()


def test_nobody_with_more_rights_gets_a_link_from_an_instructor(world: World) -> None:
    def make(name: str) -> str:
        return accounts.student_link(
            user=world.users[name], by=world.users["ines"], course=world.course
        )

    assert make("sam")
    for name in ("ines", "otto", "olga"):
        with pytest.raises(CourseError, match="joined this course"):
            make(name)
    User.objects.filter(username="sue").update(is_staff=True)
    with pytest.raises(CourseError):
        make("sue")


def test_without_mail_the_page_says_whom_to_ask(client: Client) -> None:
    assert b"sends no mail" in client.get("/account/reset/").content


def test_a_link_by_mail(world: World, client: Client, settings: Any, monkeypatch: Any) -> None:
    settings.EMAIL_URL = "smtp://localhost"
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(mail, "link_send", lambda *, name, address: sent.append((name, address)))
    answers = [
        re.sub(r'value="\w+"', "", client.post("/account/reset/", {"login": name}).content.decode())
        for name in ("sam", "nobody")
    ]
    assert answers[0] == answers[1]
    assert [name for name, _ in sent] == ["sam", "nobody"]
    for name, address in sent:
        mail._send(name, address)
    (message,) = outbox.outbox
    assert message.to == ["sam@example.edu"]
    path = re.search(r"http://testserver(/account/link/[\w-]+/)", message.body)
    assert path is not None
    assert client.get(path.group(1)).status_code == 200
    for _ in range(3):
        last = client.post("/account/reset/", {"login": "sam"})
    assert last.status_code == 429


# ---- one's own account ---------------------------------------------------------------------------


def test_changing_the_password(world: World) -> None:
    client, elsewhere = world.client("sam"), world.client("sam")
    wrong = client.post("/account/password/", {"old": "no", "new": "another-window-18"})
    assert b"This is not your password." in wrong.content
    weak = client.post("/account/password/", {"old": PASSWORD, "new": "sam"})
    assert b"too short" in weak.content
    done = client.post("/account/password/", {"old": PASSWORD, "new": "another-window-18"})
    assert done.headers["Location"] == "/account/?done=password"
    assert client.get("/courses/").status_code == 200
    assert elsewhere.get("/courses/").status_code == 302


def test_guessing_the_password_of_an_open_session_is_limited(world: World) -> None:
    client = world.client("sam")
    answers = [client.post("/account/delete/", {"old": "no"}).status_code for _ in range(7)]
    assert answers == [200] * 6 + [429]


@pytest.mark.django_db(transaction=True)
def test_the_header_says_who_is_signed_in(world: World) -> None:
    for path in ("/", "/about/", "/labs/nothing/", "/nothing/"):
        assert b'<span class="cut">sam</span>' in world.client("sam").get(path).content
        assert b">Sign in</a>" in Client().get(path).content


def test_opening_pages_writes_nothing(client: Client) -> None:
    from django.contrib.sessions.models import Session

    for path in ("/", "/courses/", SIGN_IN, SIGN_UP, "/account/reset/", "/courses/join/?code=A"):
        client.get(path)
    assert not Session.objects.exists()
    assert "streamlab_session" not in client.cookies
