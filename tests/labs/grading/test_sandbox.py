"""The sandbox itself: what it is made of here, and that it does not run where it does not hold."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from labs.grading import sandbox
from labs.grading.jail import codec, locks
from labs.grading.sandbox import Limits, Sandbox, SandboxUnavailable, Stopped, layers

from .conftest import ROOT

pytestmark = pytest.mark.skipif(
    not all(layer.active for layer in layers()[1:]), reason="the sandbox cannot be made here"
)


@pytest.fixture
def fresh_nursery():
    sandbox.close_nurseries()
    yield
    sandbox.close_nurseries()


def ask(box: Sandbox, *request: object) -> list[object]:
    return codec.message(box.exchange(codec.line(list(request))))


def test_it_compiles_runs_and_calls() -> None:
    with Sandbox() as box:
        assert ask(box, "load", 1, "def twice(x):\n    return x * 2\n") == ["value", 1, None]
        assert ask(box, "begin", 2) == ["value", 2, None]
        assert ask(box, "call", 3, None, "twice", False, ["l", 21]) == ["value", 3, 42]


def test_an_exception_is_told_with_its_line() -> None:
    with Sandbox() as box:
        ask(box, "load", 1, "x = 1\n\nx / 0\n")
        assert ask(box, "begin", 2) == ["raised", 2, "ZeroDivisionError", "division by zero", 3]


@pytest.mark.parametrize(
    ("weakened", "found"),
    [
        ("locks.allow_only_computing = lambda: None", "opening a socket"),
        ("locks.set_limits = locks.allow_only_computing = lambda *_: None", "starting a process"),
        ("locks.lock = lambda memory, cpu: None", "did not start"),  # a canary ran /bin/true
        ("locks.forbid_files = lambda: 1 / 0", "did not start"),
    ],
)
def test_a_layer_that_is_missing_is_noticed_and_nothing_runs(
    monkeypatch: pytest.MonkeyPatch, fresh_nursery: None, weakened: str, found: str
) -> None:
    start = sandbox.START.replace("; main()", f"; from jail import locks; {weakened}; main()")
    monkeypatch.setattr(sandbox, "START", start)
    with pytest.raises(SandboxUnavailable, match=f"nothing ran.*{found}|{found}.*nothing ran"):
        Sandbox(outer=False)


def test_each_inner_layer_alone_stops_files_or_sockets() -> None:
    """Landlock without seccomp, and seccomp without Landlock: neither leans on the other."""
    for layer in ("forbid_files", "allow_only_computing"):
        code = (
            f"import sys; sys.path.insert(0, {str(sandbox.HERE)!r}); from jail import locks;"
            f"locks.drop_capabilities(); locks.{layer}();"
            "print(*locks.failing_canaries(), sep='\\n')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        got_through = done.stdout.splitlines()
        for canary in ("reading /etc/passwd", "running a program", "writing a file"):
            assert canary not in got_through, layer


def test_without_any_layer_the_canaries_get_through() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(sandbox.HERE)!r}); from jail import locks;"
        "import os; os.execv = lambda *_: None; print(len(locks.failing_canaries()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-1]) >= 8


def test_outside_linux_a_sentence_names_linux_and_the_recipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailable, match=r"Linux only.*container.*docs/howto/sandbox\.md"):
        Sandbox()
    assert not any(layer.active for layer in layers())
    assert any("docs/howto/sandbox.md" in layer.sentence for layer in layers())


def test_windows_says_the_same() -> None:
    code = (
        "import sys; sys.platform = 'win32'; sys.modules['resource'] = None;"
        "from labs.grading.sandbox import Sandbox, SandboxUnavailable\n"
        "try: Sandbox()\nexcept SandboxUnavailable as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert "Linux only" in done.stdout


def test_without_landlock_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match="no Landlock"):
        Sandbox()


def test_without_bubblewrap_the_inner_layers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "bubblewrap", lambda: "bubblewrap is not installed")
    outer, *inner = layers()
    assert not outer.active
    assert "not installed" in outer.sentence
    assert all(layer.active for layer in inner)
    with Sandbox() as box:
        assert not box.outer
    with pytest.raises(SandboxUnavailable, match="asked for"):
        Sandbox(outer=True)


def test_the_process_is_gone_when_the_sandbox_is_left() -> None:
    with Sandbox(outer=False) as box:
        os.kill(box.child, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(box.child, 0)
    box.close()


def test_no_descriptor_is_left_behind() -> None:
    Sandbox().close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        Sandbox().close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_nursery_that_was_killed_is_replaced(fresh_nursery: None) -> None:
    Sandbox(outer=False).close()
    killed = sandbox.nursery(False).process
    killed.kill()
    killed.wait(20)
    Sandbox(outer=False).close()


def test_a_process_forked_from_this_one_starts_a_nursery_of_its_own(fresh_nursery: None) -> None:
    Sandbox(outer=False).close()
    mine = sandbox.nursery(False)
    child = os.fork()
    if child == 0:
        try:
            Sandbox(outer=False).close()
            other = sandbox.nursery(False).process.pid != mine.process.pid
            sandbox.close_nurseries()
            os._exit(0 if other else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert mine.usable()


def test_the_clock_ends_a_process_that_does_not_answer() -> None:
    with Sandbox(Limits(wall=0.3)) as box:
        ask(
            box,
            "load",
            1,
            "import _thread\nl = _thread.allocate_lock()\nl.acquire()\nl.acquire()\n",
        )
        start = time.monotonic()
        with pytest.raises(Stopped) as stopped:
            ask(box, "begin", 2)
        assert stopped.value.kind == "time"
        assert time.monotonic() - start < 60


def test_every_architecture_allows_the_same() -> None:
    names = [set(table) for table in locks.ALLOWED.values()]
    assert all(table == names[0] for table in names)
