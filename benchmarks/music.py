"""Music: a folder of tagged audio files scanned and scanned again, and how long searches take,
there and on Chinook.

Files and catalogues are made under the work folder, anew each time. `benchmarks/README.md` says
what is controlled for.
"""

import argparse
import io
import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mutagen
import numpy as np
import soundfile
from mutagen import id3
from real_anime import DEFAULT_WORK

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.embed.weights import pull_model
from stackroom.model.principal import LOCAL_USER
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.sources.port import RowSource
from stackroom.tools.operation import Call, identity_of

CHINOOK = Path(__file__).parents[2] / "shared" / "data" / "music" / "chinook.sqlite"
FORMATS = {"mp3": "MP3", "flac": "FLAC", "ogg": "OGG", "wav": "WAV"}
RATE = 8_000
FRAMES = {"title": id3.TIT2, "artist": id3.TPE1, "album": id3.TALB, "tracknumber": id3.TRCK, "date": id3.TDRC, "genre": id3.TCON}  # fmt: skip  # noqa: E501
GENRES = ("Rock", "Jazz", "Folk", "Classical", "Electronic", "Blues")
WORDS = (
    "amber birch cedar delta ember falcon garden harbour island juniper kestrel lantern meadow"
    " orchard river summit"
)
QUERIES = (
    "metallica", "stairway to heaven", "iron maiden live", "bossa nova", "aquarela do brasil",
    "queen", "u2 achtung baby", "love songs", "blues guitar", "smells like teen sprit",
    "amber river", "the falcon", "jazz", "garden of glass", "1999",
    "calm music for the evening with friends", "rock", "op 27 no 2", "live in concert",
    "harbour 55",
)  # fmt: skip
ROUNDS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--no-embed", action="store_true", help="search by words alone")
    arguments = parser.parse_args()
    home = arguments.work / "music"
    shutil.rmtree(home, ignore_errors=True)
    files = home / "files"
    write_files(files, arguments.files)
    app = App(Settings(home=home))
    if not arguments.no_embed:
        pull_model(app.settings.models_folder)
    figures: dict[str, Any] = {"files": arguments.files, **scans(app, files)}
    figures["search of the folder"] = searches(
        app, "folder", str(files), embed=not arguments.no_embed
    )
    if CHINOOK.is_file():
        figures["search of chinook"] = searches(
            app, "chinook", str(CHINOOK), embed=not arguments.no_embed
        )
    else:
        print(f"not here: {CHINOOK}", file=sys.stderr)
    app.close()
    print(json.dumps(figures, indent=2))


def write_files(folder: Path, count: int) -> None:
    """Write tagged files: artists with two albums of ten tracks each, in all formats."""
    sound = (0.3 * np.sin(np.arange(RATE) / 5)).astype(np.float32)
    plain: dict[str, bytes] = {}
    for ending, container in FORMATS.items():
        buffer = io.BytesIO()
        soundfile.write(buffer, sound, RATE, format=container)
        plain[ending] = buffer.getvalue()
    words = WORDS.split()
    for number in range(count):
        artist, position = number // 20, number % 10 + 1
        ending = list(FORMATS)[number % len(FORMATS)]
        path = (
            folder / f"artist {artist}" / f"album {number // 10 % 2}" / f"{position:02d}.{ending}"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(plain[ending])
        write_tags(
            path,
            title=f"{words[number * 7 % 16]} {words[(number * 11 + 3) % 16]} {number}",
            artist=f"The {words[artist % 16]} {artist}",
            album=f"{words[(artist + 5) % 16]} and {words[(artist + number // 10 % 2) % 16]}",
            tracknumber=f"{position}/10",
            date=str(1950 + artist % 70),
            genre=GENRES[artist % len(GENRES)],
        )


def write_tags(path: Path, **tags: str) -> None:
    audio = mutagen.File(path)
    if audio.tags is None:
        audio.add_tags()
    for name, value in tags.items():
        if isinstance(audio.tags, id3.ID3):
            audio.tags.add(FRAMES[name](encoding=3, text=[value]))
        else:
            audio.tags[name] = [value]
    audio.save()


def scans(app: App, files: Path) -> dict[str, Any]:
    """Time the first scan, one without a change, and one after one change; without vectors, which
    are not its work.
    """
    first = timed(lambda: scan(app, files))
    unchanged = timed(lambda: scan(app, files))
    changed = next(files.rglob("*.flac"))
    write_tags(changed, title="another title")
    one_change = timed(lambda: scan(app, files))
    return {
        "first scan s": first,
        "rescan without a change s": unchanged,
        "rescan after one change s": one_change,
    }


def scan(app: App, files: Path) -> None:
    add_catalogue(
        app,
        rows_of(str(files)),
        recipe=package_recipe(PACKAGES.get("music")),
        name="scanned",
        progress=quiet,
        embed=False,
    )


def searches(app: App, name: str, location: str, *, embed: bool) -> dict[str, float]:
    """Build a catalogue, and time `catalog.search` with its answer made, as the gate calls it."""
    add_catalogue(
        app,
        rows_of(location),
        recipe=package_recipe(PACKAGES.get("music")),
        name=name,
        progress=quiet,
        embed=embed,
    )
    gate = app.build_gate([name])
    tool = gate.toolbox_of(LOCAL_USER).tools["catalog.search"]
    call = Call(identity=identity_of(), server=gate.toolbox_of(LOCAL_USER))
    walls = []
    cpu = time.process_time()
    for number, query in enumerate(QUERIES * (ROUNDS + 1)):
        began = time.perf_counter()
        tool.operation.run(call, tool.params(query=query))
        if number >= len(QUERIES):
            walls.append((time.perf_counter() - began) * 1000)
    spent = (time.process_time() - cpu) * 1000 / len(QUERIES * (ROUNDS + 1))
    best = np.array(walls).reshape(ROUNDS, len(QUERIES)).min(axis=0)
    return {
        "p50 ms": round(float(np.percentile(walls, 50)), 2),
        "p95 ms": round(float(np.percentile(walls, 95)), 2),
        "p95 of the best of ten ms": round(float(np.percentile(best, 95)), 2),
        "CPU ms": round(spent, 2),
    }


def rows_of(location: str) -> RowSource:
    return open_rows(PACKAGES.get("music"), location)


def timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return round(time.perf_counter() - began, 2)


def quiet(_report: object) -> None:
    """Show no progress."""


if __name__ == "__main__":
    main()
