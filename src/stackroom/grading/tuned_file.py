"""The tuned weights of a catalogue, kept beside it: they overlay the `[search]` section of its spec."""

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stackroom.catalogue.spec import SearchSpec
from stackroom.checksums import sum_of
from stackroom.errors import StorageError
from stackroom.library import FileWatch, replace_file
from stackroom.toml_text import parse_toml

logger = logging.getLogger(__name__)

TUNED_FILE = "tuned.toml"
CHECKSUM_LINE = "# checksum: "


class TunedWeights(BaseModel):
    """`[search]` of a `tuned.toml`: the weights that were tuned, with the bounds of a spec's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vector_weight: float | None = Field(default=None, ge=0, le=1)
    by_coverage: bool | None = None
    feedback_weight: float | None = Field(default=None, ge=0, le=1)
    smoothing_weight: float | None = Field(default=None, ge=0, le=1)
    known_weight: float | None = Field(default=None, ge=0, le=2)
    little_known_discount: float | None = Field(default=None, ge=0, le=1)
    named_weight: float | None = Field(default=None, ge=0, le=2)

    def over(self, search: SearchSpec) -> SearchSpec:
        """Return a search section with these weights."""
        return replace(search, **self.plain())

    def describe(self) -> str:
        """Return the weights in one line."""
        return ", ".join(f"{name} {value}" for name, value in self.plain().items()) or "as declared"

    def plain(self) -> dict[str, Any]:
        """Return the weights that were tuned, by name."""
        return self.model_dump(exclude_none=True)


def difference(tuned: SearchSpec, declared: SearchSpec) -> TunedWeights:
    """Return the weights in which a search section differs from the declared one."""
    was = asdict(declared)
    return TunedWeights(
        **{
            name: value
            for name, value in asdict(tuned).items()
            if name in TunedWeights.model_fields and value != was[name]
        }
    )


def save_tuned(weights: TunedWeights, path: Path, *, figures: Mapping[str, str]) -> None:
    """Write tuned weights, with the figures that they were accepted by; replaces the file as a whole."""
    lines = ["# Written by stackroom eval --tune; stackroom eval --reset removes it.", "[search]"]
    lines += [f"{name} = {str(value).lower()}" for name, value in weights.plain().items()]
    lines += ["", "[figures]", *(f'{name} = "{value}"' for name, value in figures.items())]
    text = "\n".join(lines) + "\n"
    replace_file(path, f"{text}{CHECKSUM_LINE}{sum_of(text.encode())}\n".encode())


def find_tuned(path: Path) -> TunedWeights | None:
    """Read tuned weights, where there are any."""
    if not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8")
        _require_checksum(text)
        return TunedWeights.model_validate(parse_toml(text).get("search", {}))
    except (OSError, ValueError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise StorageError(f"{path} is damaged ({reason}); remove it: stackroom eval --reset") from error


def _require_checksum(text: str) -> None:
    """Refuse a text whose last line is a checksum, and not of the lines before it."""
    content, mark, told = text.rpartition(CHECKSUM_LINE)
    if mark and told.strip() != sum_of(content.encode()):
        raise ValueError("its checksum is not that of its content")
    if not mark and "checksum" in text:
        raise ValueError("its checksum is not readable")


def watch_tuned(path: Path, declared: SearchSpec) -> FileWatch[SearchSpec | None]:
    """Follow the tuned weights of a catalogue: its search section with them; None if none were tuned."""
    return FileWatch(path, lambda: _read_over(path, declared))


def _read_over(path: Path, declared: SearchSpec) -> SearchSpec | None:
    try:
        weights = find_tuned(path)
    except StorageError as error:
        logger.warning("catalogue '%s' is searched with its declared weights: %s", path.parent.name, error)
        return None
    return weights.over(declared) if weights else None
