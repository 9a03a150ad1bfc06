"""Zip files whose bytes depend on their content and one time alone."""

import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

EARLIEST = 315_532_800
"""1980-01-01, the first day that a zip file can state."""


def write_zip(target: Path, files: Mapping[str, bytes], *, time_s: int) -> None:
    """Write these files, sorted by name, all with the same time."""
    at = datetime.fromtimestamp(max(time_s, EARLIEST), UTC)
    stamp = (at.year, at.month, at.day, at.hour, at.minute, at.second)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[name])
