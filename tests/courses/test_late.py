"""What lateness costs, at its edges and for every policy."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from courses.errors import CourseError
from courses.late import DAY, Deadlines, Earned, LatePolicy, best, factor, is_late
from courses.scores import lab_score, shown

DUE = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
CLOSES = DUE + 3 * DAY
TICK = timedelta(microseconds=1)
DATES = Deadlines(opens=DUE - 7 * DAY, due=DUE, closes=CLOSES)
TENTH_A_DAY = LatePolicy(per_day=10)


@pytest.mark.parametrize(
    ("received", "counts"),
    [
        (DUE - 7 * DAY - TICK, 0),  # not open yet
        (DUE - 7 * DAY, 1),
        (DUE, 1),
        (DUE + TICK, Fraction(9, 10)),  # the first day has begun
        (DUE + DAY, Fraction(9, 10)),
        (DUE + DAY + TICK, Fraction(8, 10)),
        (CLOSES, Fraction(7, 10)),
        (CLOSES + TICK, 0),
    ],
)
def test_ten_percent_a_day(received: datetime, counts: Fraction) -> None:
    assert factor(received, DATES, TENTH_A_DAY) == counts


@pytest.mark.parametrize(
    ("policy", "after", "counts"),
    [
        (LatePolicy(), 2 * DAY, 1),
        (LatePolicy(at_once=50), TICK, Fraction(1, 2)),
        (LatePolicy(at_once=50), 2 * DAY, Fraction(1, 2)),
        (LatePolicy(at_once=20, per_day=30), TICK, Fraction(1, 2)),
        (LatePolicy(at_once=20, per_day=30, at_most=60), 2 * DAY, Fraction(2, 5)),
        (LatePolicy(per_day=100), TICK, 0),
        (LatePolicy(at_once=100, per_day=100), 2 * DAY, 0),
        (LatePolicy(at_once=100, at_most=0), TICK, 1),
        (LatePolicy(grace_minutes=5, at_once=50), timedelta(minutes=5), 1),
        (LatePolicy(grace_minutes=5, at_once=50), timedelta(minutes=5) + TICK, Fraction(1, 2)),
        # Grace forgives a little lateness; it does not move the days.
        (LatePolicy(grace_minutes=5, per_day=10), DAY + TICK, Fraction(8, 10)),
    ],
)
def test_policies(policy: LatePolicy, after: timedelta, counts: Fraction) -> None:
    assert factor(DUE + after, DATES, policy) == counts


def test_the_clock_change_is_no_extra_hour() -> None:
    from zoneinfo import ZoneInfo

    due = datetime(2026, 10, 24, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    a_day_on_the_wall = datetime(2026, 10, 25, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    dates = Deadlines(due=due.astimezone(UTC))
    # 25 hours have passed: a second day has begun.
    assert factor(a_day_on_the_wall.astimezone(UTC), dates, TENTH_A_DAY) == Fraction(8, 10)


@pytest.mark.parametrize("bad", [-1, 101, 1.0, True, "5", None])
def test_a_policy_that_is_none(bad: object) -> None:
    with pytest.raises(CourseError, match="must be a whole number from 0 to 100"):
        LatePolicy(per_day=bad)  # type: ignore[arg-type]


def test_a_policy_survives_being_stored() -> None:
    policy = LatePolicy(5, 10, 20, 30)
    assert LatePolicy.of({**policy.as_data(), "unknown": 1}) == policy
    assert LatePolicy.of({}) == LatePolicy()


def test_sentences() -> None:
    assert LatePolicy().sentence() == "Late work counts in full."
    assert LatePolicy(at_once=10, per_day=5, at_most=50, grace_minutes=5).sentence() == (
        "Late work after 5 minutes of grace loses 10\u00a0% at once and 5\u00a0% for each day that has begun, at most 50\u00a0%."
    )


def test_an_extension_never_takes_time_away() -> None:
    assert DATES.extended(DUE - DAY, None) == DATES
    assert DATES.extended(DUE + DAY, None) == Deadlines(DATES.opens, DUE + DAY, CLOSES)
    assert DATES.extended(DUE + 5 * DAY, None).closes == DUE + 5 * DAY  # not closed before due
    assert DATES.extended(DUE + DAY, CLOSES + DAY).closes == CLOSES + DAY
    assert Deadlines(due=DUE).extended(DUE + DAY, DUE + 2 * DAY).closes is None
    assert Deadlines(closes=CLOSES).extended(CLOSES + DAY, None).closes == CLOSES + DAY


moments = st.datetimes(DUE.replace(tzinfo=None) - 9 * DAY, DUE.replace(tzinfo=None) + 20 * DAY).map(
    lambda at: at.replace(tzinfo=UTC)
)
policies = st.builds(
    LatePolicy,
    st.integers(0, 20160),
    st.integers(0, 100),
    st.integers(0, 100),
    st.integers(0, 100),
)
fractions = st.fractions(0, 1, max_denominator=60)
attempts = st.lists(st.builds(Earned, moments, fractions), max_size=6)


@st.composite
def deadlines(draw: st.DrawFn) -> Deadlines:
    three = sorted(draw(st.tuples(moments, moments, moments)))
    return Deadlines(*[draw(st.sampled_from([None, one])) for one in three])


@given(moments, moments, deadlines(), policies)
def test_later_never_counts_more(
    one: datetime, other: datetime, dates: Deadlines, policy: LatePolicy
) -> None:
    early, later = sorted([one, other])
    if dates.opens is None or early >= dates.opens:
        assert 0 <= factor(later, dates, policy) <= factor(early, dates, policy) <= 1


@given(attempts, st.builds(Earned, moments, fractions), deadlines(), policies)
def test_another_attempt_never_loses_what_was_earned(
    before: list[Earned], another: Earned, dates: Deadlines, policy: LatePolicy
) -> None:
    counted = best(before, dates, policy)
    assert counted <= best([*before, another], dates, policy) <= 1


@given(attempts, deadlines(), policies, moments, st.none() | moments)
def test_an_extension_never_lowers_a_score(
    handed_in: list[Earned],
    dates: Deadlines,
    policy: LatePolicy,
    due: datetime,
    closes: datetime | None,
) -> None:
    extended = dates.extended(due, closes)
    assert best(handed_in, dates, policy) <= best(handed_in, extended, policy)
    assert (
        extended.closes is None
        or extended.due is None
        or extended.due <= extended.closes
        or (dates.due and dates.closes and dates.due > dates.closes)
    )


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 20)),
    st.dictionaries(st.sampled_from("abcd"), attempts),
    deadlines(),
    policies,
)
def test_a_lab_gives_from_nothing_to_its_full_points(
    points: dict[str, int],
    handed_in: dict[str, list[Earned]],
    dates: Deadlines,
    policy: LatePolicy,
) -> None:
    score = lab_score(points=points, attempts=handed_in, deadlines=dates, policy=policy)
    assert 0 <= score.counted <= score.raw <= score.full == sum(points.values())
    assert score.final == score.counted
    if score.penalty:
        assert score.late


def test_an_override_counts_instead() -> None:
    score = lab_score(
        points={"a": 4}, attempts={}, deadlines=DATES, policy=LatePolicy(), override=Fraction(3)
    )
    assert (score.counted, score.final) == (0, 3)


def test_what_is_no_part_of_the_points_is_refused() -> None:
    for fraction in (Fraction(-1, 9), Fraction(10, 9)):
        with pytest.raises(ValueError, match="no part"):
            Earned(DUE, fraction)


def test_late_is_said_only_of_what_came_after_due_and_grace() -> None:
    policy = LatePolicy(grace_minutes=1)
    assert not is_late(DUE + timedelta(minutes=1), DATES, policy)
    assert is_late(DUE + timedelta(minutes=1) + TICK, DATES, policy)
    assert not is_late(DUE, Deadlines(), policy)


@pytest.mark.parametrize(
    ("points", "text"),
    [(0, "0"), (2, "2"), (20, "20"), (Fraction(5, 2), "2.5"), (Fraction(8, 3), "2.67"), (Fraction(1, 200), "0.01"),
     (Fraction(1, 201), "0"), (Fraction(1999, 1000), "2"), (Fraction(1, 10), "0.1"), (100, "100")],
)  # fmt: skip
def test_points_as_they_are_shown(points: Fraction, text: str) -> None:
    assert shown(points) == text
