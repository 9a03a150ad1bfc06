"""Libraries of the real data and the samples, built once under a folder and brought up to date when
something changed.

Each library is a STACKROOM_HOME of its own, built by the command line like a user's. A stamp has
the digest of the data and of the code that a build depends on. Where it differs, the same commands
run again: they embed only new texts.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from stackroom.assembly.app import App
from stackroom.assembly.model_choice import keep_calibration
from stackroom.embed.models import LOCAL_MODELS
from stackroom.embed.weights import pull_model
from stackroom.settings import Settings
from stackroom.sources.compressed import open_decompressed

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
SETS = Path(__file__).parent / "sets"
TABLES = ROOT / "tests" / "tables" / "data"
TEST_TABLES = ("boardgames", "books", "cheeses", "films", "wines")
DEFAULT_HOME = Path(tempfile.gettempdir()) / "stackroom-bench" / "quality"
STAMP = "built.txt"
AS_BUILT = "STACKROOM_BENCH_AS_BUILT"
"""Set this variable to use the libraries as they are, whatever changed since."""

ENGINE = ("text", "ingest", "embed", "catalogue", "search/evidence.py")
"""The parts of the engine that decide what is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchCatalogue:
    """A catalogue of a library: where its rows come from, and the first how many of them (0 for
    all).
    """

    name: str
    source: Path
    package: str | None = None
    rows: int = 0


LIBRARIES: dict[str, Sequence[BenchCatalogue]] = {
    "sample": (),
    "papers": (
        BenchCatalogue(
            name="papers", source=DATA / "papers" / "acl-40k.jsonl.zst", package="papers", rows=3000
        ),
    ),
    "chinook": (
        BenchCatalogue(name="chinook", source=DATA / "music" / "chinook.sqlite", package="music"),
    ),
    "table": (
        BenchCatalogue(name="museum", source=SETS / "museum.csv"),
        BenchCatalogue(name="houseplants", source=SETS / "houseplants.csv"),
        *(BenchCatalogue(name=name, source=TABLES / f"{name}.csv") for name in TEST_TABLES),
    ),
    "anime": (
        BenchCatalogue(
            name="anime", source=DATA / "anime" / "anime-20k.jsonl.zst", package="anime"
        ),
    ),
}
"""The libraries by name; `sample` is what `stackroom init` sets up."""


def open_library(home: Path, name: str) -> App:
    """Open a library under the folder; build it, or bring it up to date, first."""
    folder = home / name
    if not os.environ.get(AS_BUILT):
        _build(folder, LIBRARIES[name])
    return App(Settings(home=folder))


def find_missing_data(name: str) -> list[Path]:
    """Return the files of a library that are not here."""
    return [one.source for one in LIBRARIES[name] if not one.source.exists()]


def _build(folder: Path, catalogues: Sequence[BenchCatalogue]) -> None:
    digest = _digest(catalogues)
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == digest:
        return
    link_models(folder)
    for one in catalogues:
        location = _first_rows(one, folder) if one.rows else one.source
        as_package = ["--as", one.package] if one.package else ["--yes"]
        _run(folder, "add", str(location), "--name", one.name, *as_package)
    if not catalogues:
        _run(folder, "init")
    with closing(App(Settings(home=folder))) as app:
        for installed in app.library.list_installed():
            # what is measured may be another, though no record has changed
            catalogue = app.open_catalogue(installed.name)
            reader, embedder = catalogue.shelf.reader(), catalogue.searcher.embedder
            if embedder is not None and reader.model == embedder.model:
                keep_calibration(reader, embedder, installed)
    stamp.write_text(digest, encoding="utf-8")  # last, so that an interrupted build runs again


def _run(folder: Path, *arguments: str) -> None:
    print(f"building {folder.name}: stackroom {' '.join(arguments)}", file=sys.stderr, flush=True)
    environment = {**os.environ, "STACKROOM_HOME": str(folder)}
    subprocess.run(
        [sys.executable, "-m", "stackroom", *arguments],
        check=True,
        env=environment,
        stdout=sys.stderr,
    )


def link_models(folder: Path) -> None:
    """Share the models of all libraries, so that each is downloaded once."""
    own, shared = folder / "models", folder.parent / "models"
    folder.mkdir(parents=True, exist_ok=True)
    for model in LOCAL_MODELS.values():
        pull_model(own if own.exists() else shared, model)
    if not own.exists():
        own.symlink_to(shared.resolve(), target_is_directory=True)


def _first_rows(one: BenchCatalogue, folder: Path) -> Path:
    """Write the first lines of a file of JSON lines beside the library; return where."""
    path = folder / f"{one.name}-{one.rows}.jsonl"
    with open_decompressed(one.source) as file:
        path.write_bytes(b"".join(islice(file, one.rows)))
    return path


def _digest(catalogues: Sequence[BenchCatalogue]) -> str:
    """Return the digest of the data and the code that a library depends on."""
    found = hashlib.sha256(repr([(one.name, one.package, one.rows) for one in catalogues]).encode())
    code = [ROOT / "src" / "stackroom" / part for part in ENGINE]
    packages = {one.package for one in catalogues} if catalogues else {"."}
    code += [ROOT / "src" / "stackroom_catalogues" / package for package in packages if package]
    for path in _files([*code, *(one.source for one in catalogues)]):
        found.update(str(path.relative_to(ROOT.parent)).encode() + path.read_bytes())
    return found.hexdigest()


def _files(paths: Iterable[Path]) -> list[Path]:
    inside = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sorted(file for file in inside if file.is_file() and "__pycache__" not in file.parts)
