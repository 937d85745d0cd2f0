"""docs/protocol.md is what the code says."""

from django.core.management import call_command

from streamlab.runs import messages, protocol
from streamlab.runs.errors import CATALOGUE
from streamlab.runs.management.commands.protocoldocs import document


def test_the_document_is_in_step_with_the_code() -> None:
    call_command("protocoldocs", "--check")


def test_everything_is_in_it() -> None:
    text = document()
    for name in [*messages.MESSAGES, *(answer.name for answer in messages.ANSWERS)]:
        assert f"\n### {name}\n" in text
    for code in CATALOGUE:
        assert f"| `{code}` |" in text


def test_the_browser_speaks_the_same_version() -> None:
    from django.conf import settings

    scripts = settings.BASE_DIR / "static" / "js"
    words = (scripts / "protocol.js").read_text(encoding="utf-8")
    assert f"export const VERSION = {protocol.VERSION};" in words
    panel = (scripts / "panels" / "transport_panel.js").read_text(encoding="utf-8")
    assert f"const FASTEST = {messages.FASTEST};" in panel
