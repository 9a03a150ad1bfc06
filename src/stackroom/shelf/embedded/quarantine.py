"""Damaged files that were replaced, moved aside to be looked at: a few are kept, in `FOLDER/damaged/`."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

DAMAGED_FOLDER = "damaged"
KEPT = 2


def quarantine(folder: Path, path: Path) -> Path:
    """Move a damaged file or folder of a catalogue aside, keep the last few of them, and return its new place."""
    aside = folder / DAMAGED_FOLDER
    aside.mkdir(exist_ok=True)
    for old in _sorted(aside)[: -(KEPT - 1)]:
        shutil.rmtree(old, ignore_errors=True)
    place = aside / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"
    place.mkdir()
    os.replace(path, place / path.name)
    return place / path.name


def _sorted(aside: Path) -> list[Path]:
    return sorted(path for path in aside.iterdir() if path.is_dir())
