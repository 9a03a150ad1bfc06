"""The tuned weights of a catalogue, kept beside it: they overlay the `[search]` section of its spec."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from stackroom.catalogue.spec import SearchSpec
from stackroom.checksums import dump_checked, load_checked
from stackroom.errors import StorageError
from stackroom.library import FileWatch, replace_file

logger = logging.getLogger(__name__)

TUNED_FILE = "tuned.json"
MEMBERS = ("search", "figures")
"""The members of the file."""

Weights = Mapping[str, Any]
"""The weights that were tuned, by their names in `[search]`."""


def difference(tuned: SearchSpec, declared: SearchSpec) -> Weights:
    """Return the weights in which a search section differs from the declared one."""
    was = declared.model_dump()
    return {name: value for name, value in tuned.model_dump().items() if value != was[name]}


def describe_weights(weights: Weights) -> str:
    """Return weights in one line."""
    return ", ".join(f"{name} {value}" for name, value in weights.items()) or "as declared"


def save_tuned(weights: Weights, path: Path, *, figures: Mapping[str, str]) -> None:
    """Write tuned weights, with the figures that they were accepted by; replaces the file as a whole."""
    replace_file(path, dump_checked({"search": weights, "figures": figures}, option=orjson.OPT_INDENT_2))


def find_tuned(path: Path) -> Weights | None:
    """Read tuned weights, where there are any; their bounds are those of a spec's."""
    if not path.is_file():
        return None
    try:
        weights: Weights = load_checked(path.read_bytes(), MEMBERS)["search"]
        SearchSpec(**weights)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise StorageError(f"{path} is damaged ({reason}); remove it: stackroom eval --reset") from error
    return weights


def watch_tuned(path: Path, declared: SearchSpec) -> FileWatch[SearchSpec | None]:
    """Follow the tuned weights of a catalogue: its search section with them; None if none were tuned."""
    return FileWatch(path, lambda: _read_over(path, declared))


def _read_over(path: Path, declared: SearchSpec) -> SearchSpec | None:
    try:
        weights = find_tuned(path)
    except StorageError as error:
        logger.warning("catalogue '%s' is searched with its declared weights: %s", path.parent.name, error)
        return None
    return declared.model_copy(update=weights) if weights else None
