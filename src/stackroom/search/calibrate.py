"""Calibration: the cosine of a catalogue to unrelated queries, so that nearness means the same in every one.

The cosine between a query and unrelated records differs from catalogue to catalogue and from model to model. It is
measured when a catalogue is built, with probes: short questions about many topics, most of them unrelated to it.
"""

import logging
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from stackroom.checksums import dump_checked, load_checked
from stackroom.embed.port import Embedder
from stackroom.errors import StorageError
from stackroom.library import FileWatch, replace_file
from stackroom.model.scope import WHOLE
from stackroom.model.vectors import ModelId
from stackroom.shelf.port import ShelfReader

logger = logging.getLogger(__name__)

PROBES_FILE = "probes.txt"

LOWER_SHARES = (0.05, 0.25)
LOWER_SPREADS = 0.97
LOW_TO_MIDDLE = 0.67
"""Two quantiles of a normal distribution, their distance, and that from the second to the middle, both in standard
deviations. Only the lower side is measured, since probes that are related to the catalogue widen the upper side."""

LEAST_SPREAD = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The cosine of unrelated queries to their nearest record, by one model: its middle, and its spread."""

    model: ModelId
    middle: float
    spread: float

    def nearness_of(self, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how many spreads each cosine is above the middle."""
        return (cosines - self.middle) / self.spread


def calibrate(reader: ShelfReader, embedder: Embedder) -> Calibration | None:
    """Measure a catalogue; None where it has no vectors by this embedder."""
    if reader.model != embedder.model or not reader.count(WHOLE):
        return None
    probes = np.array([embedder.embed_query(probe) for probe in load_probes()])
    nearest = [ranking.scores[0] for ranking in reader.nearest(probes, scope=WHOLE, limit=1) if ranking.total]
    if not nearest:
        return None
    lowest, low = (float(one) for one in np.quantile(nearest, LOWER_SHARES))
    spread = max((low - lowest) / LOWER_SPREADS, LEAST_SPREAD)
    return Calibration(model=embedder.model, middle=min(low + LOW_TO_MIDDLE * spread, 1.0), spread=spread)


@cache
def load_probes() -> tuple[str, ...]:
    """Return short questions about many topics, used as probes."""
    text = resources.files("stackroom.search").joinpath(PROBES_FILE).read_text(encoding="utf-8")
    return tuple(text.splitlines())


MEMBERS = ("model", "middle", "spread")
"""The members of the file."""


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration to a file, which readers find as it was or whole."""
    replace_file(path, dump_checked(asdict(calibration), option=orjson.OPT_INDENT_2))


def find_calibration(path: Path) -> Calibration | None:
    """Read a calibration, where there is one."""
    if not path.is_file():
        return None
    try:
        known = load_checked(path.read_bytes(), MEMBERS)
        model = ModelId(**known["model"])
        calibration = Calibration(model=model, middle=float(known["middle"]), spread=float(known["spread"]))
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(f"{path} is damaged; build the catalogue again, or remove the file") from error
    if not (-1 <= calibration.middle <= 1 and calibration.spread > 0):
        raise StorageError(
            f"{path} is damaged: no spread of cosines is {calibration.spread} around {calibration.middle}; "
            "build the catalogue again, or remove the file"
        )
    return calibration


class CalibrationFile:
    """The calibration of a catalogue that is being served, read again after it was measured again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._watch = FileWatch(path, self._read)

    def find(self, model: ModelId | None) -> Calibration | None:
        """Return the calibration for vectors of a model; None where none was measured, or the file is damaged."""
        known = self._watch.find()
        return known if known is not None and known.model == model else None

    def _read(self) -> Calibration | None:
        try:
            return find_calibration(self._path)
        except StorageError as error:
            logger.warning("results of catalogue '%s' are not graded: %s", self._path.parent.name, error.message)
            return None
