"""Records the answers of every surface from outside, and compares two recordings.

    python scripts/golden_calls.py record --stackroom .venv/bin/stackroom --out before.jsonl
    python scripts/golden_calls.py compare before.jsonl after.jsonl
    python scripts/golden_calls.py surfaces before.jsonl

The library is made with `stackroom init` and a table of docs/examples; with `--home` it is kept
there and used again, since the calls are made on copies. golden_answers/masks.py says what is
masked, and why.
"""

import argparse
import datetime
import json
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from golden_answers.comparison import compare, compare_surfaces, counts, load
from golden_answers.masks import Mask
from golden_answers.preparing import prepare
from golden_answers.recorder import Recorder, World, find_version
from golden_answers.stages import STAGES


def main() -> int:
    """Record, or compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="golden_calls.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="record the answers of one installation")
    recording.add_argument(
        "--stackroom", type=Path, required=True, help="the command that is recorded"
    )
    recording.add_argument("--out", type=Path, required=True, help="the file of the recording")
    recording.add_argument(
        "--home", type=Path, help="the prepared library; made if it is not there"
    )
    recording.add_argument("--stage", action="append", choices=[*STAGES], help="only this stage")
    comparing = commands.add_parser("compare", help="print each difference between two recordings")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    crossing = commands.add_parser(
        "surfaces", help="compare the surfaces of one recording with each other"
    )
    crossing.add_argument("recording", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return 1 if compare(given.before, given.after) else 0
    if given.command == "surfaces":
        return 1 if compare_surfaces(given.recording) else 0
    record(
        given.stackroom.absolute(),
        given.home and given.home.absolute(),
        given.out,
        given.stage or [*STAGES],
    )
    return 0


def record(stackroom: Path, home: Path | None, out: Path, stages: list[str]) -> None:
    """Record the stages, each on its own copy of the library, two at a time."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="golden-", ignore_cleanup_errors=True) as temporary:
        prepared = home or Path(temporary) / "prepared"
        prepare(stackroom, prepared)
        with ThreadPoolExecutor(2) as pool:
            recorded = list(
                pool.map(
                    lambda name: record_stage(name, stackroom, prepared, Path(temporary)), stages
                )
            )
    lines = [line for lines in recorded for line in lines]
    out.write_text(
        "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8"
    )
    print(f"{len(lines)} calls in {time.monotonic() - begun:.0f} s, in {out}")
    for name, counted in counts(load(out)).items():
        print(f"  by {name}: {counted}")


def record_stage(
    name: str, stackroom: Path, prepared: Path, temporary: Path
) -> list[dict[str, object]]:
    """Return the calls of a stage."""
    begun = time.monotonic()
    world = World(stackroom, prepared, temporary / name)
    mask = Mask(
        first_day=datetime.date.fromtimestamp(
            (prepared / "catalogues").stat().st_mtime
        ).isoformat(),
        known={
            str(world.home): "HOME",
            str(prepared): "HOME",
            str(world.folder): "FOLDER",
            str(stackroom.parent): "BIN",
            find_version(stackroom, world.environment): "VERSION",
        },
    )
    recorder = Recorder(name, mask)
    try:
        STAGES[name](recorder, world)
    except BaseException:
        kept = Path(tempfile.gettempdir()) / f"golden-failed-{name}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(world.folder, kept, ignore_dangling_symlinks=True)
        print(
            f"stage {name} failed after {len(recorder.lines)} calls; its folder is kept in {kept}",
            file=sys.stderr,
        )
        raise
    print(f"  {name}: {len(recorder.lines)} calls in {time.monotonic() - begun:.0f} s", flush=True)
    return recorder.lines


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
