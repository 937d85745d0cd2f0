"""Runs of a visitor move into the account, are handed out and deleted with it."""

from typing import Any

from courses import adoption, personal_data
from streamlab.runs.selectors import runs_of
from streamlab.runs.services import run_adopt, runs_delete


def export(user_id: int) -> list[dict[str, Any]]:
    return runs_of(user_id=user_id)


def delete(user_id: int) -> None:
    runs_delete(user_id=user_id)


adoption.register(run_adopt)
personal_data.register("runs", export, delete)
