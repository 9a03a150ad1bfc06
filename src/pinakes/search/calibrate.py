"""Calibration: thresholds of the cosine per catalogue, so that a label means the same in every one.

The cosine between a query and unrelated records differs from catalogue to catalogue, and so does the cosine between a
title and its own text. Both are measured when a catalogue is built: the first with probes, short questions about many
topics, most of them unrelated to the catalogue; the second with a sample of its own titles.

- RELEVANT: clearly nearer than an unrelated query, or nearer than most of them and with words of the query;
- SIMILAR: as near as 90 % of titles are to their own text;
- HIGHLY_SIMILAR: as near as the median title;
- IDENTICAL: the query is the record's title, or its text.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.embed.port import Embedder
from pinakes.errors import StorageError
from pinakes.model.record import Key
from pinakes.model.scope import WHOLE
from pinakes.model.vectors import ModelId
from pinakes.shelf.port import ShelfReader

PROBES_FILE = "probes.txt"
SAMPLE_TITLES = 200
SCAN_KEYS = 20_000

SPREAD_SHARE = 0.16
"""The quantile one standard deviation below the median of a normal distribution. The spread is measured on the lower
side, since probes that are related to the catalogue widen the upper side."""

FLOOR_SPREADS = 1.0
RELEVANT_SPREADS = 2.5
SIMILAR_SHARE = 0.1
HIGHLY_SIMILAR_SHARE = 0.5
STEP = 0.04
"""The least distance between neighbouring labels."""

IDENTICAL_AT_LEAST = 0.95
STEPS = ("floor", "relevant", "similar", "highly_similar", "identical")


class Label(StrEnum):
    """A grade of relevance; a record that does not answer the query has none."""

    IDENTICAL = "IDENTICAL"
    HIGHLY_SIMILAR = "HIGHLY_SIMILAR"
    SIMILAR = "SIMILAR"
    RELEVANT = "RELEVANT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The cosines at which labels begin, by one model. Below `floor`, a cosine says nothing."""

    model: ModelId
    floor: float
    relevant: float
    similar: float
    highly_similar: float
    identical: float

    def label_of(self, cosine: float) -> Label | None:
        """Return the label that a cosine alone earns."""
        steps = (
            (self.identical, Label.IDENTICAL),
            (self.highly_similar, Label.HIGHLY_SIMILAR),
            (self.similar, Label.SIMILAR),
            (self.relevant, Label.RELEVANT),
        )
        return next((label for least, label in steps if cosine >= least), None)

    def strength_of(self, cosine: float) -> float:
        """Return a cosine as a number between 0 and 1 that can be compared between catalogues."""
        cosines = (0.0, self.floor, self.relevant, self.similar, self.highly_similar, self.identical)
        return float(np.interp(cosine, cosines, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)))


def calibrate(reader: ShelfReader, spec: CatalogueSpec, embedder: Embedder) -> Calibration | None:
    """Measure a catalogue; None where it has no vectors by this embedder."""
    own = _own_title_cosines(reader, spec, embedder)
    if own is None:
        return None
    probes = np.array([embedder.embed_query(probe) for probe in load_probes()])
    unrelated = np.array([ranking.scores.max(initial=0.0) for ranking in reader.nearest(probes, scope=WHOLE, limit=1)])
    middle = float(np.median(unrelated))
    spread = max(middle - float(np.quantile(unrelated, SPREAD_SHARE)), 0.01)
    relevant = middle + RELEVANT_SPREADS * spread
    similar = max(float(np.quantile(own, SIMILAR_SHARE)), relevant + STEP)
    highly_similar = max(float(np.quantile(own, HIGHLY_SIMILAR_SHARE)), similar + STEP)
    return Calibration(
        model=embedder.model,
        floor=middle + FLOOR_SPREADS * spread,
        relevant=relevant,
        similar=similar,
        highly_similar=highly_similar,
        identical=max(IDENTICAL_AT_LEAST, highly_similar + STEP),
    )


@cache
def load_probes() -> tuple[str, ...]:
    """Return short questions about many topics, used as probes."""
    text = resources.files("pinakes.search").joinpath(PROBES_FILE).read_text(encoding="utf-8")
    return tuple(text.splitlines())


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write a calibration to a file."""
    path.write_bytes(orjson.dumps(asdict(calibration), option=orjson.OPT_INDENT_2))


def find_calibration(path: Path) -> Calibration | None:
    """Read a calibration, where there is one."""
    if not path.is_file():
        return None
    try:
        known = orjson.loads(path.read_bytes())
        model = ModelId(**known.pop("model"))
        steps = {name: float(known[name]) for name in STEPS}
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StorageError(f"{path} is damaged; build the catalogue again, or remove the file") from error
    if list(steps.values()) != sorted(steps.values()):
        raise StorageError(f"{path} is damaged: its numbers do not rise; build the catalogue again, or remove the file")
    return Calibration(model=model, **steps)


def _own_title_cosines(reader: ShelfReader, spec: CatalogueSpec, embedder: Embedder) -> NDArray[np.float32] | None:
    """Return the cosines between a sample of titles and the texts of their records."""
    if reader.model != embedder.model:
        return None
    keys = _spread_over(reader.scan(scope=WHOLE, limit=SCAN_KEYS), SAMPLE_TITLES)
    records = reader.fetch(keys, scope=WHOLE)
    vectors = reader.vectors(keys)
    rows = [row for row, key in enumerate(keys) if key in records and vectors[row].any()]
    if not rows:
        return None
    titles = np.array([embedder.embed_query(spec.title_of(records[keys[row]])) for row in rows])
    cosines: NDArray[np.float32] = (titles * vectors[rows]).sum(axis=1)
    return cosines


def _spread_over(items: Sequence[Key], count: int) -> list[Key]:
    """Return this many of the items, evenly spread."""
    step = max(1, len(items) // count)
    return list(items[::step][:count])
