"""Questions in plain words over twelve catalogues, asked of every surface.

They are in `questions/*.toml`, one file a catalogue: conditions, negation, order, names, moods,
counting, and what no record answers. By kind and in sum: the share of answers that are right or say
what was not understood, and the share with a strong hit against what the question states.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from asked_questions import (
    Judgement,
    Verdict,
    ask_plain_questions,
    build_surfaces,
    load_plain_questions,
)
from libraries import DEFAULT_HOME, open_library
from recorded_figures import flatten

from stackroom.grading.metrics import build_figure

QUESTIONS = Path(__file__).parent / "questions"
LIBRARIES = ("sample", "table")


def measure(home: Path) -> dict[str, Any]:
    """Ask every question of every surface; return the shares by kind and in sum."""
    return shares(list(ask_all(home)))


def ask_all(home: Path, only: str = "") -> Iterator[Judgement]:
    """Yield how each surface answers each question, of all catalogues or of one."""
    asked = {
        each.catalogue: each
        for each in load_plain_questions(QUESTIONS)
        if only in ("", each.catalogue)
    }
    for library in LIBRARIES:
        app = open_library(home, library)
        for name in sorted(
            {installed.name for installed in app.library.list_installed()} & asked.keys()
        ):
            yield from ask_plain_questions(app, asked[name], build_surfaces(app, name))
        app.close()


def shares(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return the shares of answers that are right or said to be not understood, and of contradicted
    ones.
    """
    groups: dict[str, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        groups["all"].append(judgement)
        groups[judgement.kind].append(judgement)
    return {
        group: {
            "right or said": build_figure(
                [float(each.verdict is not Verdict.WRONG) for each in found]
            ),
            "contradicted": build_figure(
                [float(bool(each.contradictions)) for each in found], lower_is_better=True
            ),
        }
        for group, found in groups.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="folder of the libraries")
    parser.add_argument("--only", default="", help="one catalogue")
    parser.add_argument(
        "--show", action="store_true", help="list the answers that went wrong, with the best hits"
    )
    options = parser.parse_args()
    judgements = list(ask_all(options.home, options.only))
    for each in judgements if options.show else ():
        if each.verdict is not Verdict.RIGHT:
            print(f"{each.verdict}, {each.kind}, {each.catalogue}, {each.surface}: {each.query}")
            print(f"    evidence {each.evidence}; {'; '.join(each.notes)}")
            print(
                f"    {each.shown}"
                + (f" AGAINST IT: {each.contradictions}" if each.contradictions else "")
            )
    for name, figure in flatten(shares(judgements)).items():
        print(f"{name:50} {figure}")


if __name__ == "__main__":
    main()
