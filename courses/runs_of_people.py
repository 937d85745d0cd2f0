"""What runs and accounts have to do with each other.

Runs and explorations of a visitor move into the account, and are handed out and deleted with it; new runs of a student are of the
version that the course has published.
"""

from typing import Any

from courses import adoption, personal_data, selectors
from streamlab.explorations.selectors import explorations_of
from streamlab.explorations.services import exploration_adopt
from streamlab.runs import versions
from streamlab.runs.selectors import runs_of
from streamlab.runs.services import run_adopt, runs_delete


def export(user_id: int) -> list[dict[str, Any]]:
    return runs_of(user_id=user_id)


def delete(user_id: int) -> None:
    runs_delete(user_id=user_id)


def published(user_id: int, lab: str) -> str | None:
    release = selectors.release_of(user_id=user_id, lab=lab)
    return None if release is None else release.version_id


versions.decide_by(published)
adoption.register(run_adopt)
adoption.register(exploration_adopt)
personal_data.register("runs", export, delete)
personal_data.register("explorations", lambda user_id: explorations_of(user_id=user_id))
