"""Abstention: does a search know when it has nothing, and keep its evidence when it has the answer?

The questions are in `sets/*-abstention.jsonl` (`sets/README.md` describes them). A question with an
answer is kept if one of the first five hits is a right record with evidence better than none; a
near miss or a far-off question is a false alarm if the answer has any evidence. By catalogue and in
sum.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from libraries import DEFAULT_HOME, open_library
from recorded_figures import flatten

from stackroom.catalogue.spec import texts_of
from stackroom.grading.metrics import build_figure
from stackroom.model.hits import Evidence
from stackroom.model.record import Record
from stackroom.model.scope import WHOLE
from stackroom.tools.catalogue import CatalogueView

SETS = Path(__file__).parent / "sets"
LIBRARIES = {
    "papers-abstention.jsonl": {"papers": "papers"},
    "papers-sample-abstention.jsonl": {"papers": "sample"},
    "documents-abstention.jsonl": {"handbook": "sample", "dnd": "sample", "personal": "sample"},
    "music-abstention.jsonl": {"chinook": "chinook", "music": "sample"},
    "table-abstention.jsonl": {"museum": "table", "houseplants": "table"},
    "anime-abstention.jsonl": {"anime": "anime"},
}
"""The library that has each catalogue of a set."""
DEPTH = 5
KINDS = {
    "answer": "answers kept",
    "near": "near misses with evidence",
    "far": "far off with evidence",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One line of a set."""

    query: str
    kind: str
    catalogue: str
    answers: frozenset[str] = frozenset()
    contains: str = ""
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def is_answered_by(self, record: Record) -> bool:
        """Tell whether a record is a right one: by id, as a passage of a document, or by a
        value.
        """
        named = record.id in self.answers or record.id.split("#")[0] in self.answers
        if named and self.contains:
            return any(
                self.contains in text
                for value in record.fields.values()
                for text in texts_of(value)
            )
        has_value = any(
            wanted.casefold() in {text.casefold() for text in texts_of(record.get(name))}
            for name, values in self.where.items()
            for wanted in values
        )
        return named or has_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a question: whether it was right, and what was found, for those who look into
    it.
    """

    question: Question
    has_evidence: bool
    keeps_answer: bool
    best: str

    @property
    def value(self) -> float:
        """1 for a kept answer, and for a false alarm; 0 otherwise."""
        return float(self.keeps_answer if self.question.kind == "answer" else self.has_evidence)

    @property
    def is_right(self) -> bool:
        """Whether it went as it should."""
        return bool(self.value) == (self.question.kind == "answer")


def measure(home: Path) -> dict[str, Any]:
    """Ask every question of every set; return the shares by catalogue and in sum."""
    return shares(list(ask_all(home)))


def ask_all(home: Path, only: str = "") -> Iterator[tuple[str, Answer]]:
    """Yield the name of each catalogue, with its set's where that is needed, and an answer."""
    for file_name, libraries in LIBRARIES.items():
        questions = load_questions(SETS / file_name)
        for catalogue, library in libraries.items():
            shown = f"{library} {catalogue}" if catalogue == "papers" else catalogue
            if only and only not in (shown, catalogue):
                continue
            app = open_library(home, library)
            view = app.open_catalogue(catalogue).view()
            yield from ((shown, ask(view, one)) for one in questions if one.catalogue == catalogue)
            app.close()


def ask(view: CatalogueView, question: Question) -> Answer:
    """Search as every tool does, and judge what came."""
    found = view.search(question.query, scope=WHOLE)
    hits = found.hits(DEPTH)
    labels = [hit.label for hit in hits]  # None where a hit has no evidence
    right = [question.is_answered_by(hit.record) for hit in hits]
    shown = [
        f"{view.spec.title_of(hit.record)} ({label or '–'})"
        for hit, label in zip(hits, labels, strict=True)
    ]
    return Answer(
        question=question,
        has_evidence=found.evidence is not Evidence.NONE,
        keeps_answer=any(is_right and label for is_right, label in zip(right, labels, strict=True)),
        best="; ".join(shown[:3]),
    )


def shares(answers: Sequence[tuple[str, Answer]]) -> dict[str, Any]:
    """Return the shares of each kind of question, by catalogue and over all."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for catalogue, answer in answers:
        for group in (catalogue, "all"):
            values[group][answer.question.kind].append(answer.value)
    return {
        group: {
            KINDS[kind]: build_figure(found, lower_is_better=kind != "answer")
            for kind, found in by_kind.items()
        }
        for group, by_kind in values.items()
    }


def load_questions(path: Path) -> list[Question]:
    """Read a set; a question that names no catalogue is for the only one of its set."""
    alone = next(iter(LIBRARIES[path.name]))
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Question(
            query=row["query"],
            kind=row["kind"],
            catalogue=row.get("catalogue", alone),
            answers=frozenset(row["answers"]),
            contains=row.get("contains", ""),
            where=row.get("where", {}),
        )
        for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="folder of the libraries")
    parser.add_argument("--only", default="", help="one catalogue")
    parser.add_argument(
        "--show", action="store_true", help="list the questions that went wrong, with the best hits"
    )
    options = parser.parse_args()
    answers = list(ask_all(options.home, options.only))
    if options.show:
        for catalogue, answer in answers:
            if not answer.is_right:
                print(
                    f"{catalogue}, {answer.question.kind}: {answer.question.query}\n   "
                    f" {answer.best}"
                )
    for name, figure in flatten(shares(answers)).items():
        print(f"{name:50} {figure}")


if __name__ == "__main__":
    main()
