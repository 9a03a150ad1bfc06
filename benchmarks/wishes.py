"""Wishes beside liked titles: how much more of what is recommended has what was asked for.

Every wish of `sets/anime-wishes.jsonl` is put beside each of twelve titles, through
`recommend_similar`. The gain is the share of the eight recommendations that have a wanted tag (or,
where only something unwanted is named, that have no such tag), minus the same share without the
wish. `share unwanted` is how many have an unwanted tag.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from answers import load_rows
from libraries import DEFAULT_HOME, open_library
from recorded_figures import flatten

from stackroom.grading.metrics import build_figure
from stackroom.model.principal import LOCAL_USER

SET = Path(__file__).parent / "sets" / "anime-wishes.jsonl"
TITLES = (
    *(
        "Cowboy Bebop",
        "Death Note",
        "Fullmetal Alchemist: Brotherhood",
        "Shingeki no Kyojin",
        "Spirited Away",
    ),
    *(
        "Steins;Gate",
        "Mushishi",
        "K-ON!",
        "Haikyuu!!",
        "Neon Genesis Evangelion",
        "Berserk",
        "Toradora!",
    ),
)
LIMIT = 8

Ask = Callable[[str, str], list[frozenset[str]]]
"""The tags of each record that is recommended for a title and a wish."""


def measure(home: Path) -> dict[str, Any]:
    """Ask for every wish beside every title; return the figures over all of them, and the gain of
    each wish.
    """
    app = open_library(home, "anime")
    gate = app.build_gate(("anime",))

    @cache
    def ask(title: str, wish: str) -> list[frozenset[str]]:
        asked = {"titles": [title], "limit": LIMIT, **({"preferences": wish} if wish else {})}
        answer = gate.call(LOCAL_USER, "recommend_similar", asked)
        if answer.is_error or answer.structured is None:
            raise RuntimeError(f"{asked}: {answer.text}")
        return [
            frozenset(tag["value"] for tag in one["tags"])
            for one in answer.structured["recommendations"]
        ]

    rows = load_rows(SET)
    gains = {row["wish"]: [gain(ask, title, row) for title in TITLES] for row in rows}
    unwanted = [
        share(ask(title, row["wish"]), row["unwanted"])
        for row in rows
        if row["unwanted"]
        for title in TITLES
    ]
    app.close()
    return {
        "gain": build_figure([one for some in gains.values() for one in some]),
        "share unwanted": build_figure(unwanted, lower_is_better=True),
        "gain of": {wish: build_figure(some) for wish, some in gains.items()},
    }


def gain(ask: Ask, title: str, row: Mapping[str, Any]) -> float:
    """Return how much more of the recommendations have what was asked for than without the wish."""
    before, after = ask(title, ""), ask(title, row["wish"])
    if row["tags"]:
        return share(after, row["tags"]) - share(before, row["tags"])
    return share(before, row["unwanted"]) - share(after, row["unwanted"])


def share(found: Sequence[frozenset[str]], tags: Sequence[str]) -> float:
    """Return the share of records that have one of the tags."""
    return sum(not some.isdisjoint(tags) for some in found) / max(len(found), 1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="folder of the libraries")
    for name, figure in flatten(measure(parser.parse_args().home)).items():
        print(f"{name:50} {figure}")


if __name__ == "__main__":
    main()
