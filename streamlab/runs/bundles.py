"""Lab folders, archived under the digest of their content.

The database keeps the archive; the unpacked folder under VAR_DIR is a cache that any process can make
again. A run refers to the digest, so editing or removing its lab changes nothing for it.
"""

import functools
import io
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

from django.conf import settings

from labs.spec import LabSpec, files_of, load_lab
from streamlab.runs.models import Bundle

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that zip can write: equal folders, equal archives


def bundle_archive(*, lab: LabSpec) -> Bundle:
    """The bundle of a lab as it is now; written at its first use."""
    bundle = Bundle.objects.defer("archive").filter(pk=lab.digest).first()
    if bundle is None:
        bundle, _ = Bundle.objects.get_or_create(
            digest=lab.digest, defaults={"lab": lab.slug, "archive": packed(lab.folder)}
        )
    return bundle


def packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files_of(folder)):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return buffer.getvalue()


@functools.lru_cache(maxsize=64)
def bundle_lab(*, digest: str) -> LabSpec:
    """The lab as it was when it was archived."""
    return load_lab(bundle_folder(digest=digest))


def bundle_folder(*, digest: str) -> Path:
    """The unpacked folder. It appears whole or not at all, also when two processes unpack at once."""
    bundle = Bundle.objects.get(pk=digest)
    target = Path(settings.VAR_DIR) / "bundles" / digest
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        unpacked = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=target.parent))
        try:
            with zipfile.ZipFile(io.BytesIO(bytes(bundle.archive))) as content:
                content.extractall(unpacked / bundle.lab)
            os.rename(unpacked, target)
        except OSError:
            if not target.is_dir():
                raise
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
    return target / bundle.lab
