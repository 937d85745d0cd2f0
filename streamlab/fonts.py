"""The fonts of the pages: subsets of Source Sans and Source Serif, as woff2.

No font is committed. The full files come in the wheels `font-source-sans-pro` and
`font-source-serif-pro`; `build` takes out what European languages and the signs of this site need,
a tenth of the size.

"Source" is a reserved font name of the Open Font License, and a subset is a modification: inside
the files the families are therefore called StreamLab Sans and StreamLab Serif. The licence texts
are served beside the fonts.
"""

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont


@dataclass(frozen=True)
class Face:
    name: str  # of the file that the browser gets, without .woff2
    package: str
    source: str  # file in the package
    family: str  # name inside the built file


SANS, SERIF = "font_source_sans_pro", "font_source_serif_pro"
FACES = (
    Face("source-sans-400", SANS, "SourceSansPro-Regular.ttf", "StreamLab Sans"),
    Face("source-sans-600", SANS, "SourceSansPro-Semibold.ttf", "StreamLab Sans Semibold"),
    Face("source-serif-400", SERIF, "SourceSerifPro-Regular.ttf", "StreamLab Serif"),
    Face("source-serif-400-italic", SERIF, "SourceSerifPro-It.ttf", "StreamLab Serif Italic"),
    Face("source-serif-600", SERIF, "SourceSerifPro-Semibold.ttf", "StreamLab Serif Semibold"),
)
LICENCES = {"OFL-source-sans.txt": SANS, "OFL-source-serif.txt": SERIF}

CHARACTERS = [
    *range(0x0020, 0x007F),  # ASCII
    *range(0x00A0, 0x0180),  # Latin-1 and Latin Extended-A
    *range(0x2010, 0x2027),  # dashes, quotes, daggers, ellipsis
    *range(0x2070, 0x208F),  # superior and inferior figures
    *map(ord, "′″‹›⁄€№™←↑→↓↔∂∅∆∈∏∑−√∞∫≈≠≤≥◊ﬁﬂ"),
]
FEATURES = ["kern", "liga", "mark", "mkmk", "ccmp", "locl", "lnum", "onum", "pnum", "tnum", "zero"]
NAMES_KEPT = [0, 7, 13, 14]  # copyright, trademark, licence and its address


def build(folder: Path) -> None:
    """Fill `folder` with the fonts and their licences, unless it holds exactly these already."""
    stamp = folder / ".built-from"
    wanted = recipe()
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".fonts-"))
    try:
        for face in FACES:
            write_subset(face, draft / f"{face.name}.woff2")
        for name, package in LICENCES.items():
            (draft / name).write_bytes(package_file(package, "LICENSE.txt").read_bytes())
        (draft / stamp.name).write_text(wanted)
        draft.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def recipe() -> str:
    """Changes whenever the result of `build` would."""
    versions = [metadata.version(package) for package in (SANS, SERIF, "fonttools", "brotli")]
    return hashlib.sha256(repr(versions).encode() + Path(__file__).read_bytes()).hexdigest()


def write_subset(face: Face, target: Path) -> None:
    options = Options(
        flavor="woff2",
        layout_features=FEATURES,
        name_IDs=NAMES_KEPT,
        hinting=False,
        notdef_outline=True,
    )
    font = TTFont(str(package_file(face.package, face.source)), recalcTimestamp=False)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=CHARACTERS)
    subsetter.subset(font)
    for name_id, text in ((1, face.family), (4, face.family), (6, face.family.replace(" ", ""))):
        font["name"].setName(text, name_id, 3, 1, 0x409)
    font.flavor = "woff2"
    font.save(str(target))


def package_file(package: str, name: str) -> Path:
    return Path(str(resources.files(package).joinpath("files", name)))
