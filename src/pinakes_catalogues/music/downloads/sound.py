"""Check that a downloaded file is audio: a server may send an HTML page, or nothing, under the name of a track."""

from pathlib import Path

from pinakes.api import InputError
from pinakes_catalogues.music.audio.tags import read_tags


def find_problem(file: Path) -> str | None:
    """Return why a file cannot be read as audio; None where it can."""
    if file.stat().st_size == 0:
        return "it is empty"
    try:
        read_tags(file)
    except InputError as error:
        return error.message
    return None
