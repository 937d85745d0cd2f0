"""Two server processes and one run: of two drivers one wins, the other gets a fresh view."""

import os

from django.utils import timezone

from streamlab.runs import leases, services
from streamlab.runs.models import Lease, LogEntry, Run
from streamlab.runs.registry import Registry
from streamlab.runs.services import Growth
from tests.streamlab.conftest import Connect


async def test_the_process_with_the_lease_drives(run: Run, connect: Connect) -> None:
    here, there = Registry(), Registry()
    ada = await connect(run, server=here)
    ida = await connect(run, server=there)
    await ada.drive("step", count=3)
    error = await ida.drive("step")
    assert error["code"] == "elsewhere"
    assert error["sentence"].startswith("Another window drives this run through another server")
    # The other process shows where the run is, once it stands still.
    await there.round()
    await there.round()
    view = await ida.until("view")
    assert (view["step"], view["why"]) == (3, "other tab")
    # When the first leaves, the second drives on.
    await ada.close()
    assert (await ida.drive("step"))["type"] == "done"
    assert ida.position == 4
    await here.close()
    await there.close()


async def test_a_lease_of_a_process_that_hangs_expires(run: Run, connect: Connect) -> None:
    here, there = Registry(), Registry()
    ada, ida = await connect(run, server=here), await connect(run, server=there)
    await ada.drive("step", count=3)
    await Lease.objects.aupdate(expires=timezone.now())
    # `there` has not seen those steps: its driver gets a fresh view first.
    assert (await ida.drive("step"))["code"] == "stale"
    assert (await ida.until("view"))["step"] == 3
    assert (await ida.drive("step"))["type"] == "done"
    # The first process wakes up and believes that it still holds the lease.
    error = await ada.drive("step")
    assert error["code"] == "stale"
    assert (await ada.until("view"))["step"] == 4
    assert (await ada.drive("step"))["code"] == "elsewhere"
    row = await Run.objects.aget(pk=run.pk)
    assert (row.head, row.position) == (4, 4)
    await here.close()
    await there.close()


async def test_a_player_that_lost_its_run_stops(run: Run, connect: Connect) -> None:
    here = Registry()
    ada = await connect(run, server=here)
    await ada.drive("play", rate=64)
    await ada.until("steps")
    await Run.objects.filter(pk=run.pk).aupdate(head=500)  # somebody drove it meanwhile
    view = await ada.until("view")
    assert view["head"] == 500
    status = await ada.until(lambda m: m["type"] == "status" and m["state"] == "paused")
    assert status["why"].startswith("The run has moved")
    await here.close()


def test_a_growth_from_a_wrong_head_is_refused_and_the_others_are_kept(run: Run) -> None:
    lab = services.lab_get(slug="counting")
    other = services.run_create(lab=lab, owner=services.Owner("bob"))
    row = (0, "action", "x", 1)
    written = services.log_append(
        [
            Growth(run.pk, expected_head=5, head=6, position=6, rows=[row]),
            Growth(other.pk, expected_head=0, head=1, position=1, rows=[row]),
        ]
    )
    assert written.conflicts == {run.pk}
    run.refresh_from_db()
    other.refresh_from_db()
    assert (run.head, other.head) == (0, 1)
    assert [entry.run_id for entry in LogEntry.objects.all()] == [other.pk]


def test_an_index_is_written_once(run: Run) -> None:
    row = (0, "action", "x", 1)
    one = Growth(run.pk, expected_head=0, head=1, position=1, rows=[row])
    two = Growth(run.pk, expected_head=1, head=2, position=2, rows=[row])
    assert services.log_append([one]).conflicts == set()
    assert services.log_append([two]).conflicts == {run.pk}
    run.refresh_from_db()
    assert run.head == 1


def test_a_lease_is_held_by_one_and_renewed(run: Run) -> None:
    one, two = leases.new_holder(), leases.new_holder()
    assert services.lease_acquire(run_id=run.pk, holder=one, seconds=5)
    assert services.lease_acquire(run_id=run.pk, holder=one, seconds=5)
    assert not services.lease_acquire(run_id=run.pk, holder=two, seconds=5)
    services.leases_release(holder=two)
    assert not services.lease_acquire(run_id=run.pk, holder=two, seconds=5)
    before = Lease.objects.get().expires
    services.leases_renew(holder=one, seconds=60)
    assert Lease.objects.get().expires > before
    services.leases_release(holder=one, run_ids=[run.pk])
    assert services.lease_acquire(run_id=run.pk, holder=two, seconds=5)


def test_nobody_waits_for_a_process_that_has_ended(run: Run) -> None:
    mine = leases.new_holder()
    host, number, start, rest = mine.split("/")
    assert number == str(os.getpid())
    assert not leases.holder_is_gone(mine)
    assert not leases.holder_is_gone(f"elsewhere/{number}/other/{rest}")
    assert not leases.holder_is_gone(f"{host}/1/{start}/{rest}")
    assert not leases.holder_is_gone("nonsense")
    assert leases.holder_is_gone(f"{host}/{number}/other/{rest}")  # same number, another start
    gone = f"{host}/{2**22 + 1}/other/{rest}"  # beyond the highest process id
    assert leases.holder_is_gone(gone)
    assert services.lease_acquire(run_id=run.pk, holder=gone, seconds=60)
    assert services.lease_acquire(run_id=run.pk, holder=mine, seconds=60)
