"""`make eval`: every open set of questions, each figure with its 95 % interval, compared with the
recorded ones.

The exit code is 1 if a figure has fallen beyond noise (`recorded_figures` says what that is), or is
not measured any more. `--record` writes the measured figures to `recorded.json`, for the commit
that explains why they changed.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import abstention
import answers
import passages
import plain_questions
import recommendation
import retrieval
import wishes
from libraries import DATA, DEFAULT_HOME
from recorded_figures import as_json, find_falls, flatten, load_recorded, save_recorded

from stackroom.grading.metrics import Figure

RECORDED = Path(__file__).parent / "recorded.json"
MEASURES: dict[str, Callable[[Path], Mapping[str, Any]]] = {
    "retrieval": retrieval.measure,
    "recommendation": recommendation.measure,
    "anime": answers.measure,
    "abstention": abstention.measure,
    "passages": passages.measure,
    "wishes": wishes.measure,
    "questions": plain_questions.measure,
}
"""Each takes the folder of the libraries, builds what it needs there, and returns figures, nested
as it likes.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--home", type=Path, default=DEFAULT_HOME, help="folder of the libraries, kept between runs"
    )
    parser.add_argument(
        "--only", choices=MEASURES, action="append", help="measure this alone; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--record", action="store_true", help="write the figures to recorded.json")
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not here: this needs the real data")
    chosen = options.only or list(MEASURES)
    now = measure(chosen, options.home)
    every_recorded = load_recorded(RECORDED)
    recorded = {
        name: figure for name, figure in every_recorded.items() if name.split(" / ")[0] in chosen
    }
    show(now, recorded, as_objects=options.json)
    if options.record:
        kept = {name: figure for name, figure in every_recorded.items() if name not in recorded}
        save_recorded({**kept, **now}, RECORDED)
        return
    falls = list(find_falls(recorded, now))
    for fall in falls:
        print(f"FALLEN {fall}", file=sys.stderr)
    sys.exit(1 if falls else 0)


def measure(chosen: list[str], home: Path) -> dict[str, Figure]:
    """Run measures one after the other, and say how long each takes."""
    found: dict[str, Figure] = {}
    for name in chosen:
        print(f"{time.strftime('%H:%M:%S')} measuring {name}", file=sys.stderr, flush=True)
        found.update(flatten({name: MEASURES[name](home)}))
    return found


def show(now: Mapping[str, Figure], recorded: Mapping[str, Figure], *, as_objects: bool) -> None:
    """Print every figure, beside the recorded one where they differ."""
    if as_objects:
        print(
            json.dumps(
                {name: as_json(replace(figure, values=())) for name, figure in now.items()},
                indent=1,
            )
        )
        return
    for name, figure in now.items():
        before = recorded.get(name)
        is_new = before is None or abs(before.mean - figure.mean) < 0.0005
        print(f"{name:66} {figure}" + ("" if is_new else f"   recorded {before.mean:.3f}"))


if __name__ == "__main__":
    main()
