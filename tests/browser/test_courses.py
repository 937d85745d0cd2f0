"""Accounts and courses as people meet them: without scripts, by keyboard, light and dark, on a narrow screen."""

from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from courses import accounts, roster, services
from courses.models import Account, Course
from tests.browser.test_access import grave_findings
from tests.courses.conftest import LAB, PASSWORD, release_fields

PAGES = [
    "/courses/", "/courses/new/", "/account/", "/account/password/", "/account/delete/",
    "{c}", "{c}settings/", "{c}roster/", "{c}gradebook/", "{c}releases/new/", "{c}as-student/",
    "{c}releases/{r}/", "{c}releases/{r}/extensions/", "{c}gradebook/{e}/",
]  # fmt: skip


@pytest.fixture
def course(transactional_db: None) -> Course:
    """Taught by ines, with students of long names, an extension and points by hand."""
    ines = accounts.account_create(
        name="ines", shown_as="Ines Weber", password=PASSWORD, role=Account.Role.INSTRUCTOR
    )
    course = services.course_create(title="Streams", time_zone="Europe/Berlin", by=ines)
    names = ["Ada Lovelace", "Wolfeschlegelsteinhausenbergerdorff " * 2, "李小龍"]
    entries = [roster.Entry(number, f"student{number}", name) for number, name in enumerate(names)]
    services.roster_take(course=course, entries=entries, by=ines)
    due = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
    release = services.release_create(course=course, lab=LAB, **release_fields(due=due))
    first = course.enrolments.get(user__username="student0").pk
    services.extension_give(
        release=release, enrolment_id=first, due=due, closes=None, reason="ill", by=ines
    )
    services.score_override(
        release=release, enrolment_id=first, points=None, reason="checked", by=ines
    )
    return course


def sign_in(page: Page, url: str, name: str = "ines") -> None:
    page.goto(f"{url}/account/sign-in/")
    page.get_by_label("Sign-in name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your courses")


@pytest.mark.parametrize(
    ("theme", "width", "height"), [("light", 1280, 720), ("dark", 1280, 720), ("light", 390, 844)]
)
def test_axe_finds_nothing_grave_and_nothing_overflows(
    course: Course, server: Any, page: Page, theme: str, width: int, height: int
) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    for path in ("/account/sign-in/", "/account/sign-up/", "/account/reset/"):
        page.goto(server.url + path)
        assert grave_findings(page) == []
    sign_in(page, server.url)
    values = {
        "c": f"/courses/{course.slug}/",
        "r": course.releases.get().pk,
        "e": course.enrolments.get(user__username="student0").pk,
    }
    for path in PAGES:
        page.goto(server.url + path.format(**values))
        assert grave_findings(page) == [], path
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, path
        expect(page.locator("h1")).to_have_count(1)


def test_a_student_comes_in_without_scripts_and_by_keyboard_alone(
    course: Course, server: Any, browser: Browser
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.url}/courses/join/?code={course.join_code}")
    page.get_by_role("link", name="Sign up").press("Enter")
    page.get_by_label("Sign-in name").press("Control+a")
    for text in ("ada", "Ada Lovelace", "", PASSWORD):
        page.keyboard.insert_text(text)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Join code")).to_have_value(course.join_code)
    page.get_by_label("Join code").press("Enter")
    expect(page.get_by_role("status")).to_have_text("You are in this course now.")
    expect(page.get_by_role("heading", level=2)).to_contain_text(["Flights out of New York"])
    expect(page.locator("main")).to_contain_text("due Tue 1 Dec 2026, 23:59 CET")
    page.get_by_role("button", name="Sign out").press("Enter")
    expect(page.get_by_role("status")).to_have_text("You have signed out.")
    context.close()


def test_a_link_of_the_command_line_and_mistakes_beside_their_fields(
    course: Course, server: Any, page: Page
) -> None:
    user = accounts.instructor_make(name="otto", shown_as="Otto")
    page.goto(f"{server.url}/account/link/{accounts.link_make(user=user)}/")
    field = page.get_by_label("New password")
    field.fill("short")
    field.press("Enter")
    field = page.get_by_label("New password")
    expect(field).to_have_attribute("aria-invalid", "true")
    named = (field.get_attribute("aria-describedby") or "").split()
    said = [page.locator(f"#{one}").inner_text() for one in named]
    assert any("too short" in one for one in said)
    assert any("At least 8 characters" in one for one in said)
    field.fill(PASSWORD)
    field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Your password was changed.")


def test_practice_goes_on_after_signing_in(course: Course, server: Any, page: Page) -> None:
    page.goto(f"{server.url}/labs/{LAB}/")
    page.wait_for_selector("html[data-ready=true]", state="attached")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".said .number")).to_have_text("1")
    page.wait_for_url("**/runs/**")
    run = page.url
    sign_in(page, server.url)
    page.goto(run)
    page.wait_for_selector("html[data-ready=true]", state="attached")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".said .number")).to_have_text("2")
