"""What every catalogue of refusals is made of: code, sentence, place, mend."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Refusal:
    """A catalogue entry. `sentence` and `mend` may hold {names} that the raiser fills in.

    closes: the connection ends after it, with this websocket close code; 0 keeps it open.
    status: of the answer to a request over HTTP.
    """

    sentence: str
    mend: str
    closes: int = 0
    status: int = 400


class Refused(Exception):
    """A refusal from a catalogue. `place` names the field, step, line, address or person that it is about."""

    catalogue: ClassVar[dict[str, Refusal]]

    def __init__(self, code: str, *, place: str = "", **values: object) -> None:
        refusal = self.catalogue[code]
        self.code = code
        self.sentence = refusal.sentence.format(**values)
        self.place = place
        self.mend = refusal.mend.format(**values)
        self.closes = refusal.closes
        self.status = refusal.status
        super().__init__(self.sentence)
