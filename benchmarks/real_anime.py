"""The real anime data as a built catalogue, and queries over it, for every benchmark here.

The catalogue is built by the application itself, once, under the work folder; embedding its records
takes minutes.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, package_recipe
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.port import Embedder
from stackroom.embed.weights import pull_model
from stackroom.ingest.pipeline import IngestReport
from stackroom.model.record import Record
from stackroom.model.vectors import Vector
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.shelf.opening import open_shelf
from stackroom.sources.json_rows import JsonRows

ROOT = Path(__file__).resolve().parent.parent
DATA_FILE = ROOT.parent / "shared" / "data" / "anime" / "anime-20k.jsonl.zst"
DEFAULT_WORK = Path(tempfile.gettempdir()) / "stackroom-bench"
NAME = "anime"
QUERY_WORDS = 7
MIN_SYNOPSIS_WORDS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class RealAnime:
    """The records with their vectors, in one order, and the embedder that made them."""

    spec: CatalogueSpec
    folder: Path
    records: Sequence[Record]
    vectors: Vector
    embedder: Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query as a person would type it, and its vector."""

    text: str
    vector: Vector


def load_real_anime(work: Path) -> RealAnime:
    """Open the catalogue under the work folder; build it first where it is not there."""
    if not DATA_FILE.is_file():
        sys.exit(f"skipped: the real data is not here ({DATA_FILE})")
    app = App(Settings(home=work / "home"))
    pull_model(app.settings.models_folder)
    if NAME not in [one.name for one in app.library.list_installed()]:
        print(f"building the catalogue under {work} (minutes, once)", file=sys.stderr)
    add_catalogue(
        app,
        JsonRows(DATA_FILE),
        recipe=package_recipe(PACKAGES.get(NAME)),
        name=NAME,
        progress=_show,
    )
    installed = app.library.get_installed(NAME)
    catalogue = app.open_catalogue(NAME)
    shelf = open_shelf(installed.folder, catalogue.spec)
    rows = [row for row in shelf.store.iter_rows() if row.vector is not None]
    return RealAnime(
        spec=catalogue.spec,
        folder=installed.folder,
        records=[row.record for row in rows],
        vectors=np.array([row.vector for row in rows]),
        embedder=app.embedder,
    )


def draw_queries(anime: RealAnime, *, count: int, seed: int = 7) -> list[Query]:
    """Draw queries: a quarter titles, a quarter tags, half a run of words out of a synopsis."""
    generator = np.random.default_rng(seed)
    long_enough = [
        record
        for record in anime.records
        if len(str(record.get("synopsis") or "").split()) >= MIN_SYNOPSIS_WORDS
    ]
    drawn = [
        long_enough[place] for place in generator.choice(len(long_enough), count, replace=False)
    ]
    texts = [
        _query_text(record, form=number % 4, generator=generator)
        for number, record in enumerate(drawn)
    ]
    return [Query(text=text, vector=anime.embedder.embed_query(text)) for text in texts]


def _query_text(record: Record, *, form: int, generator: np.random.Generator) -> str:
    tags = [tag.value for tag in record.get("tags") or ()]
    if form == 0 or (form == 1 and len(tags) < 3):
        return str(record.get("title"))
    if form == 1:
        return " ".join(str(tag) for tag in generator.choice(tags, 3, replace=False))
    words = str(record.get("synopsis")).split()
    start = int(generator.integers(len(words) - QUERY_WORDS))
    return " ".join(words[start : start + QUERY_WORDS])


def _show(report: IngestReport) -> None:
    if report.embedded and report.rows % 2048 < 256:
        print(
            f"{time.strftime('%H:%M:%S')} {report.rows} rows, {report.embedded} embedded",
            file=sys.stderr,
        )
