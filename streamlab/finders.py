"""Static files that are built, not committed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.checks import CheckMessage
from django.core.files.storage import FileSystemStorage

from streamlab import fonts

NAMES = (*(f"{face.name}.woff2" for face in fonts.FACES), *fonts.LICENCES)


class FontFinder(BaseFinder):
    """Serves fonts/*.woff2 and their licences; builds them when first asked."""

    prefix = "fonts"

    @property
    def folder(self) -> Path:
        return Path(settings.STATIC_BUILD_DIR) / self.prefix

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        prefix, _, name = path.partition("/")
        found: list[str] = []
        if prefix == self.prefix and name in NAMES:
            fonts.build(self.folder)
            found = [str(self.folder / name)]
        if find_all:
            return found
        return found[0] if found else []

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterable[Any]:
        fonts.build(self.folder)
        storage = FileSystemStorage(location=self.folder)
        storage.prefix = self.prefix  # type: ignore[attr-defined]  # collectstatic reads it
        for name in NAMES:
            yield name, storage
