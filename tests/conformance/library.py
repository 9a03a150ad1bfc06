"""A small library without vectors, served by the real command to everybody on this machine."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conformance.processes import find_free_port, serving
from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.settings import Settings

STACKROOM = str(Path(sys.executable).with_name("stackroom"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedLibrary:
    """Where the library is, and where it is served."""

    home: Path
    url: str


@contextmanager
def serving_library() -> Iterator[ServedLibrary]:
    """Build a library of the anime sample, and serve it over HTTP while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="stackroom-conformance-") as folder:
        home = Path(folder)
        app = App(Settings(home=home))
        add_sample(app, "anime", progress=lambda _report: None, embed=False)
        app.close()
        port = find_free_port()
        command = [STACKROOM, "serve", "--http", "--no-accounts", "--port", str(port)]
        with serving(command, environment={**os.environ, "STACKROOM_HOME": folder}, port=port):
            yield ServedLibrary(home=home, url=f"http://127.0.0.1:{port}")
