"""Passages: how much of the text that answers a question do the document tools return?

The questions are in `sets/passages-*.jsonl`, over folders of the two archives in
../shared/data/documents. Recall@k is the share of the answer's characters (without white space)
that the first k passages of `search_documents` have; where a question has several answers, the best
of them counts. Each collection is asked alone, and both at once. Questions are short, as people
type them, or full, as assistants ask them.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Any

from libraries import AS_BUILT, DATA, DEFAULT_HOME, SETS, link_models
from recorded_figures import flatten

from stackroom.assembly.app import App
from stackroom.gate.gate import Gate
from stackroom.grading.metrics import build_figure
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.zstd import zstd

DEPTHS = (5, 10)
LIBRARY = "documents"
STYLES = ("short", "full")
Recalls = dict[int, float]
"""Recall by depth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A collection: the archive, the folder in it, and the parts of the folder that are taken."""

    archive: str
    root: str
    parts: tuple[str, ...]
    without: tuple[str, ...] = ()


DEPARTMENTS = ("ceo-team", "cto", "finance", "legal", "marketing", "security", "tech-ops")
CORPORA = {
    "handbook": Corpus(
        archive="handbook.tar.zst",
        root="content",
        parts=(
            *(
                "benefits-pay-perks",
                "company-info-and-process",
                "handbook",
                "index.md",
                "strategy-goals",
                "team",
            ),
            *(f"departments/{name}" for name in DEPARTMENTS),
        ),
        without=("departments/security/tooling/trivy",),
    ),
    "dnd": Corpus(
        archive="dnd-srd.tar.zst",
        root="docs",
        parts=("rules", "adventuring", "combat", "character", "spellcasting"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, and the places that answer it, each as `FILE:FIRST-LAST`."""

    text: str
    style: str
    answers: tuple[str, ...]


def measure(home: Path, *, model: str | None = None) -> dict[str, Any]:
    """Ask every question of every collection; return recall by collection, over all, and of both
    asked at once.
    """
    app = open_library(home, model=model)
    gate = app.build_gate()
    alone = {name: _recalls(gate, home, name, [name]) for name in CORPORA}
    at_once = {name: _recalls(gate, home, name, list(CORPORA)) for name in CORPORA}
    app.close()
    groups = {
        **{name: _values(found) for name, found in alone.items()},
        "all": _values(_together(alone)),
    }
    groups |= {f"{style} questions": _values(_together(alone), style=style) for style in STYLES}
    groups["both at once"] = _values(_together(at_once))
    return {
        group: {f"recall@{depth}": build_figure([one[depth] for one in found]) for depth in DEPTHS}
        for group, found in groups.items()
    }


def open_library(home: Path, *, model: str | None = None) -> App:
    """Unpack the collections and open their library; build it, or bring it up to date, first.

    There is a library for each model; None is the one that documents have by default.
    """
    folder = home / (f"{LIBRARY}-{model}" if model else LIBRARY)
    for name, corpus in CORPORA.items():
        _unpack(corpus, _files_of(home, name))
        if not os.environ.get(AS_BUILT):
            link_models(folder)
            _add(folder, _files_of(home, name), name, model)
    return App(Settings(home=folder))


def find_missing_data() -> list[Path]:
    """Return the archives that are not here."""
    archives = [DATA / "documents" / corpus.archive for corpus in CORPORA.values()]
    return [path for path in archives if not path.exists()]


def load_questions(name: str) -> list[Question]:
    """Read the questions about a collection."""
    lines = (SETS / f"passages-{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        Question(text=row["question"], style=row["style"], answers=tuple(row["answers"]))
        for row in rows
    ]


def recalls_of(
    question: Question, found: Sequence[Mapping[str, Any]], texts: Mapping[str, str]
) -> Recalls:
    """Return recall at each depth of the passages that were found; texts are those of the files, by
    path.
    """
    return {
        depth: max(_share(answer, found[:depth], texts) for answer in question.answers)
        for depth in DEPTHS
    }


def _share(answer: str, found: Iterable[Mapping[str, Any]], texts: Mapping[str, str]) -> float:
    """Return the share of an answer's characters that passages have."""
    path, _, lines = answer.rpartition(":")
    first, last = (int(number) for number in lines.split("-"))
    text = texts[path]
    starts = _line_starts(text)
    wanted = {at for at in range(starts[first - 1], starts[last] - 1) if not text[at].isspace()}
    covered: set[int] = set()
    for one in found:
        where = one["metadata"]
        if where["file_path"] == path:
            at = text.find(one["content"], starts[where["first_line"] - 1])
            covered.update(range(at, at + len(one["content"])))
    return len(wanted & covered) / len(wanted)


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(len(line) + 1 for line in text.split("\n"))]


def _recalls(
    gate: Gate, home: Path, name: str, sources: Sequence[str]
) -> list[tuple[Question, Recalls]]:
    folder = _files_of(home, name)
    files = {answer.rpartition(":")[0] for one in load_questions(name) for answer in one.answers}
    texts = {
        file: (folder / file).read_text(encoding="utf-8").replace("\r\n", "\n") for file in files
    }
    return [
        (one, recalls_of(one, _ask(gate, one.text, sources, name), texts))
        for one in load_questions(name)
    ]


def _ask(gate: Gate, text: str, sources: Sequence[str], own: str) -> list[Mapping[str, Any]]:
    """Return the first passages for a question; those of other collections take up places, but
    cover nothing.
    """
    arguments = {"query": text, "sources": list(sources), "n_results": max(DEPTHS)}
    answer = gate.call(LOCAL_USER, "search_documents", arguments)
    if answer.is_error or answer.structured is None:
        sys.exit(f"{text}: {answer.text}")
    elsewhere = {"content": "", "metadata": {"file_path": None}}
    return [one if one["source"] == own else elsewhere for one in answer.structured["results"]]


def _together(
    found: Mapping[str, Sequence[tuple[Question, Recalls]]],
) -> list[tuple[Question, Recalls]]:
    return [one for of_collection in found.values() for one in of_collection]


def _values(found: Iterable[tuple[Question, Recalls]], *, style: str = "") -> list[Recalls]:
    return [recalls for question, recalls in found if style in ("", question.style)]


def _files_of(home: Path, name: str) -> Path:
    return home / f"{LIBRARY}-files" / name


def _unpack(corpus: Corpus, folder: Path) -> None:
    """Write the Markdown files of a collection, unless they are there."""
    if folder.is_dir():
        return
    archive = zstd.decompress((DATA / "documents" / corpus.archive).read_bytes())
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for entry in files:
            path = PurePosixPath(entry.name)
            if entry.isfile() and path.suffix == ".md" and _is_taken(path, corpus):
                target = folder / path.relative_to(corpus.root)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(files.extractfile(entry).read())  # type: ignore[union-attr]


def _is_taken(path: PurePosixPath, corpus: Corpus) -> bool:
    root = PurePosixPath(corpus.root)
    is_part = any(path.is_relative_to(root / part) for part in corpus.parts)
    return is_part and not any(path.is_relative_to(root / part) for part in corpus.without)


def _add(folder: Path, files: Path, name: str, model: str | None) -> None:
    environment = {**os.environ, "STACKROOM_HOME": str(folder)}
    command = [sys.executable, "-m", "stackroom", "add", str(files), "--name", name]
    subprocess.run(
        [*command, *(("--model", model) if model else ())],
        check=True,
        env=environment,
        stdout=sys.stderr,
    )


def _print_missed(home: Path, model: str | None) -> None:
    """Print the questions whose answer is not whole among the first ten, with what was found
    first.
    """
    app = open_library(home, model=model)
    gate = app.build_gate()
    for name in CORPORA:
        for question, recalls in _recalls(gate, home, name, [name]):
            if recalls[max(DEPTHS)] < 1:
                found = _ask(gate, question.text, [name], name)[:3]
                best = ", ".join(f"{one['metadata']['id']}" for one in found)
                shown = " ".join(f"@{depth} {recall:.2f}" for depth, recall in recalls.items())
                print(
                    f"{name}: {question.text} [{', '.join(question.answers)}] {shown}\n    {best}"
                )
    app.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME, help="folder of the libraries")
    parser.add_argument(
        "--show",
        action="store_true",
        help="list the questions whose answer is not whole in the ten",
    )
    parser.add_argument("--model", help="measure with another model, in a library of its own")
    options = parser.parse_args()
    if missing := find_missing_data():
        sys.exit(f"not here: {', '.join(map(str, missing))}")
    if options.show:
        _print_missed(options.home, options.model)
    for name, figure in flatten(measure(options.home, model=options.model)).items():
        print(f"{name:30} {figure}")


if __name__ == "__main__":
    main()
