"""Answers about anime: plots, lists and names over the 20,666 titles, asked through the tools that
a client calls.

The questions are in `sets/anime-*.jsonl` (`sets/README.md` describes them). Plots: the share whose
title is the first hit, among the first three, among the first ten. Lists: graded nDCG@10, and how
much of the first ten is of one series. Names, through `get_anime_details`: right; right or said to
be unsure (the answer suggests others); wrong. Abstention is measured by `abstention.py`, for every
catalogue.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from libraries import DEFAULT_HOME, open_library
from recorded_figures import as_json, flatten

from stackroom.gate.gate import Gate
from stackroom.grading.metrics import build_figure, ndcg
from stackroom.model.principal import LOCAL_USER
from stackroom.model.scope import WHOLE
from stackroom.shelf.series import Work, same_franchise, work_of
from stackroom.tools.catalogue import CatalogueView

SETS = Path(__file__).parent / "sets"
DEPTH = 10
TOPS = (1, 3, 10)
NO_ANIME = "none"
SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one question: its values by figure, and what was found, for those who look into
    it.
    """

    asked: str
    group: str
    values: Mapping[str, float]
    is_miss: bool
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnimeTools:
    """The anime tools of a library, called in this process, and the records that they answer
    with.
    """

    gate: Gate
    view: CatalogueView

    def search(self, query: str) -> list[str]:
        """Return the ids of the best hits of `search_anime`."""
        answer = self._call("search_anime", {"query": query, "limit": DEPTH})
        return [bare_id(hit["id"]) for hit in answer["results"]]

    def details(self, title: str) -> dict[str, Any]:
        """Return the answer of `get_anime_details` to a title."""
        return self._call("get_anime_details", {"title": title})

    def titles(self, ids: Iterable[str]) -> str:
        """Return the titles of the first few records, for reading."""
        return "; ".join(f"{self._work(one).stem} ({one})" for one in islice(ids, SHOWN))

    def largest_series(self, ids: Sequence[str]) -> int:
        """Return how many of the records are of the series that has most of them."""
        works = [self._work(one) for one in ids]
        return max((sum(same_franchise(one, other) for other in works) for one in works), default=0)

    def _work(self, record_id: str) -> Work:
        keys = self.view.reader.find([record_id], scope=WHOLE)
        record = next(iter(self.view.reader.fetch(list(keys.values()), scope=WHOLE).values()))
        return work_of(record, self.view.spec)

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        answer = self.gate.call(LOCAL_USER, tool, dict(arguments))
        if answer.is_error or answer.structured is None:
            raise RuntimeError(f"{tool} {arguments}: {answer.text}")
        return answer.structured


def ask_plot(tools: AnimeTools, row: Mapping[str, Any]) -> Outcome:
    """Search for a plot; the title counts wherever an entry of its series comes first."""
    found = tools.search(row["query"])
    rank = next((place for place, one in enumerate(found, start=1) if one in row["answers"]), None)
    tops = {f"top {top}": float(rank is not None and rank <= top) for top in TOPS}
    is_miss = rank is None or rank > TOPS[0]
    shown = f"rank {rank or '> 10'}: {tools.titles(found)}"
    return Outcome(
        asked=row["query"], group=row["known"], values=tops, is_miss=is_miss, found=shown
    )


def ask_list(tools: AnimeTools, row: Mapping[str, Any]) -> Outcome:
    """Search for a list, a mood or a comparison."""
    found = tools.search(row["query"])
    gain = ndcg(found, row["answers"], depth=DEPTH)
    grades = "".join(str(row["answers"].get(one, 0)) for one in found)
    values = {
        "ndcg@10": gain,
        "share of one series": tools.largest_series(found) / max(len(found), 1),
    }
    return Outcome(
        asked=row["query"],
        group="",
        values=values,
        is_miss=gain < 0.5,
        found=f"{grades}: {tools.titles(found)}",
    )


def ask_name(tools: AnimeTools, row: Mapping[str, Any]) -> Outcome:
    """Ask for the details of a name."""
    answer = tools.details(row["name"])
    taken = bare_id(answer["anime"]["id"]) if answer["anime"] else None
    is_right = taken is None if row["kind"] == NO_ANIME else taken in row["answers"]
    is_unsure = not is_right and bool(answer["suggestions"])
    values = {
        "right": float(is_right),
        "right or unsure": float(is_right or is_unsure),
        "wrong": float(not is_right and not is_unsure),
    }
    shown = (
        f"{tools.titles([taken]) if taken else 'null'}, suggests {answer['suggestions'][:SHOWN]}"
    )
    return Outcome(
        asked=row["name"], group=row["kind"], values=values, is_miss=not is_right, found=shown
    )


SETS_ASKED: dict[str, tuple[str, Callable[[AnimeTools, Mapping[str, Any]], Outcome]]] = {
    "plots": ("anime-plots.jsonl", ask_plot),
    "lists": ("anime-lists.jsonl", ask_list),
    "names": ("anime-names.jsonl", ask_name),
}
LOWER_IS_BETTER = ("share of one series", "wrong")


def measure(home: Path) -> dict[str, Any]:
    """Ask every question; return the figures of each set, in sum and by group."""
    return {name: shares(outcomes) for name, outcomes in ask_all(home).items()}


def ask_all(home: Path, only: str = "") -> dict[str, list[Outcome]]:
    """Return what came of the questions of each set, or of one."""
    app = open_library(home, "anime")
    tools = AnimeTools(gate=app.build_gate(("anime",)), view=app.open_catalogue("anime").view())
    found = {
        name: [ask(tools, row) for row in load_rows(SETS / file_name)]
        for name, (file_name, ask) in SETS_ASKED.items()
        if only in ("", name)
    }
    app.close()
    return found


def shares(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the figures over all questions, and of each group where there are groups."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        for group in {"all", outcome.group} - {""}:
            for name, value in outcome.values.items():
                values[group][name].append(value)
    return {
        group: {
            name: build_figure(some, lower_is_better=name in LOWER_IS_BETTER)
            for name, some in by_name.items()
        }
        for group, by_name in sorted(values.items())
    }


def bare_id(shown: str) -> str:
    """Return a record's own id, without the catalogue that a tool may put in front of it."""
    return shown.rsplit("/", maxsplit=1)[-1]


def load_rows(path: Path) -> list[dict[str, Any]]:
    """Read a set."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="folder of the libraries")
    parser.add_argument("--only", default="", choices=["", *SETS_ASKED], help="one set")
    parser.add_argument(
        "--show", action="store_true", help="list the questions that went wrong, with the best hits"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    found = ask_all(options.home, options.only)
    if options.show:
        for outcome in (one for outcomes in found.values() for one in outcomes if one.is_miss):
            print(f"{outcome.asked}\n    {outcome.found}")
    figures = flatten({name: shares(outcomes) for name, outcomes in found.items()})
    for name, figure in figures.items():
        print(f"{name:50} {figure}")
    if options.json:
        options.json.write_text(
            json.dumps({name: as_json(one) for name, one in figures.items()}, indent=1)
        )


if __name__ == "__main__":
    main()
