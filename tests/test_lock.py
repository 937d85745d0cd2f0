"""requirements.lock is what pyproject.toml asks for: nothing is missing, nothing too much."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DIRECT = PROJECT["project"]["dependencies"] + PROJECT["dependency-groups"]["dev"]
LOCKS = ["requirements.lock", "requirements-bench.lock"]


def pinned(lock: str) -> dict[str, list[str]]:
    """Name -> versions; more than one where they differ between platforms or Pythons."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.+!]+)", (ROOT / lock).read_text(), re.M):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def applies(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""})


def reachable(roots: list[str]) -> set[str]:
    """Everything that the roots need on this machine, by what is installed."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(root) for root in roots]
    while waiting:
        requirement = waiting.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        needs = map(Requirement, metadata.requires(name) or [])
        waiting += [need for need in needs if applies(need, set(extras))]
    return {name for name, _ in seen}


@pytest.mark.parametrize("root", DIRECT)
def test_what_pyproject_asks_for_is_pinned_within_its_range(root: str) -> None:
    requirement = Requirement(root)
    versions = pinned("requirements.lock")[canonicalize_name(requirement.name)]
    assert all(requirement.specifier.contains(version) for version in versions)


def test_whatever_those_need_is_pinned_too() -> None:
    assert reachable(DIRECT) <= pinned("requirements.lock").keys()


def test_nothing_is_pinned_that_nothing_needs() -> None:
    installed = {canonicalize_name(found.name) for found in metadata.distributions()}
    assert pinned("requirements.lock").keys() & installed <= reachable(DIRECT)


@pytest.mark.parametrize("root", PROJECT["dependency-groups"]["bench"])
def test_what_the_bench_compares_with_is_pinned(root: str) -> None:
    requirement = Requirement(root)
    versions = pinned("requirements-bench.lock")[canonicalize_name(requirement.name)]
    assert all(requirement.specifier.contains(version) for version in versions)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text()
    entries = re.split(r"\n(?=\S)", text)
    assert all("--hash=sha256:" in entry for entry in entries if "==" in entry)
    assert "://" not in text


@pytest.mark.parametrize("lock", LOCKS)
def test_the_pins_do_not_disagree(lock: str) -> None:
    main, other = pinned("requirements.lock"), pinned(lock)
    assert all(main[name] == other[name] for name in main.keys() & other.keys())
