"""Answers of a visitor move into the account, and are handed out and deleted with it."""

from typing import Any

from courses import adoption, personal_data
from labs.selectors import answers_of
from labs.services import answers_adopt, answers_delete


def export(user_id: int) -> list[dict[str, Any]]:
    return answers_of(user_id=user_id)


def delete(user_id: int) -> None:
    answers_delete(user_id=user_id)


adoption.register(answers_adopt)
personal_data.register("answers", export, delete)
