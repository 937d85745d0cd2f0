"""Sources over files, with PyFlink's names where it has them (pyflink.datastream.connectors.file_system)."""

from __future__ import annotations

from pathlib import Path

from engine.datastream.transformation import caller
from engine.errors import InvalidJob
from engine.operators.split import SplitData


class StreamFormat:
    """How a file is cut into records."""

    def __init__(self, charset: str) -> None:
        self.charset = charset

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        return StreamFormat(charset_name)


class FileSource:
    """One split per file, one record per line; replayable by (file, line)."""

    def __init__(self, stream_format: StreamFormat, paths: tuple[str, ...]) -> None:
        self._format = stream_format
        self._paths = paths

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        return FileSourceBuilder(stream_format, paths)

    def splits(self) -> list[SplitData]:
        return [
            SplitData(Path(path).stem, read_lines(path, self._format.charset))
            for path in self._paths
        ]


class FileSourceBuilder:
    """PyFlink's builder; files are read when the job is declared, as the engine does no input or output while it runs."""

    def __init__(self, stream_format: StreamFormat, paths: tuple[str, ...]) -> None:
        if not paths:
            raise InvalidJob(
                "no_files",
                "A FileSource needs at least one path.",
                place=caller(),
                mend="Give the paths after the format.",
            )
        self._source = FileSource(stream_format, tuple(map(str, paths)))

    def process_static_file_set(self) -> FileSourceBuilder:
        return self

    def build(self) -> FileSource:
        return self._source


def read_lines(path: str, charset: str = "UTF-8") -> list[str]:
    """The lines of a text file without their ends; InvalidJob names the file where it cannot be read."""
    try:
        content = Path(path).read_text(encoding=charset)
    except FileNotFoundError:
        raise InvalidJob(
            "no_file",
            f"There is no file {Path(path).name}.",
            place=caller(),
            mend="Check the path.",
        ) from None
    except (OSError, UnicodeDecodeError, LookupError) as error:
        raise InvalidJob(
            "unreadable_file",
            f"The file {Path(path).name} cannot be read as {charset}: {error}.",
            place=caller(),
            mend="Check the file and its encoding.",
        ) from None
    lines = content.split(
        "\n"
    )  # as a text editor counts them: splitlines() would cut at U+2028 and form feeds too
    return lines if lines[-1] else lines[:-1]
