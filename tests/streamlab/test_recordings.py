"""A lab's job that cannot be built is a sentence with its line, never an error of the server."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine import InvalidJob
from streamlab.runs.recordings import build_graph


def lab_with(tmp_path: Path, body: str) -> Any:
    folder = tmp_path / "bundle" / "lab"
    folder.mkdir(parents=True)
    job = folder / "job.py"
    job.write_text(f"import sys\n\n\ndef build(env, parameters, data):\n    {body}\n")
    return SimpleNamespace(job_path=job, data_dir=folder, title="Broken")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("1 / 0", "raised ZeroDivisionError: division by zero"),
        ("sys.exit(3)", "raised SystemExit: 3"),
        ("env.from_collection([1]).project(0)", "raised NotImplementedError"),
    ],
)
def test_what_a_job_raises_is_told_with_its_line(tmp_path: Path, body: str, told: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        build_graph(lab_with(tmp_path, body), {})
    assert told in caught.value.sentence
    assert caught.value.place == "job.py, line 5"


def test_an_invalid_job_keeps_its_own_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidJob) as caught:
        build_graph(lab_with(tmp_path, "env.set_parallelism(0)"), {})
    assert caught.value.code == "parallelism"
