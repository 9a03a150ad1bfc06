"""Harmless passages that are flagged as instructions: synopses, abstracts, handbook, rules of a
game, cards.

    python benchmarks/false_flags.py [--data FOLDER] [--passages 10000] [--show]

Takes the same passages every time, as long as an answer shows them: whole synopses and abstracts,
sections of documents. Exit code 1 where 2 % or more are flagged. No catalogue is built; the time is
of the search alone.
"""

import argparse
import io
import json
import random
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stackroom.text.chunks import split_passages
from stackroom.text.instructions import find_in_texts, find_instructions
from stackroom.zstd import zstd

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
MOST_SHARE = 0.02
ANSWER_BYTES = 10_240
SEED = 13


def iter_synopses(data: Path) -> Iterator[str]:
    """Yield the synopses of anime."""
    for row in _iter_lines(data / "anime" / "anime-20k.jsonl.zst"):
        yield from (text for text in (row.get("synopses") or {}).values() if text)


def iter_abstracts(data: Path) -> Iterator[str]:
    """Yield the abstracts of papers."""
    yield from (
        row["abstract"]
        for row in _iter_lines(data / "papers" / "acl-40k.jsonl.zst")
        if row.get("abstract")
    )


def iter_handbook(data: Path) -> Iterator[str]:
    """Yield the passages of a company's handbook."""
    yield from _iter_documents(data / "documents" / "handbook.tar.zst")


def iter_rules(data: Path) -> Iterator[str]:
    """Yield the passages of the rules of a game."""
    yield from _iter_documents(data / "documents" / "dnd-srd.tar.zst")


def iter_articles(data: Path) -> Iterator[str]:
    """Yield the abstracts of medicine and of aeronautics."""
    for name in ("scifact", "cranfield"):
        yield from (
            row["text"]
            for row in _iter_lines(data / "benchmarks" / name / "corpus.jsonl.zst")
            if row["text"]
        )


SOURCES: dict[str, Callable[[Path], Iterator[str]]] = {
    "synopses": iter_synopses,
    "abstracts": iter_abstracts,
    "handbook": iter_handbook,
    "rules": iter_rules,
    "articles": iter_articles,
}


def main() -> None:
    """Count the flagged passages by source."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--show", action="store_true", help="print what was flagged")
    options = parser.parse_args()
    if not (options.data / "anime").is_dir():
        sys.exit(f"skipped: there is no public data in {options.data}; give its folder with --data")
    share = -(-options.passages // len(SOURCES))
    flagged = total = 0
    for name, read in SOURCES.items():
        texts = _sample(list(read(options.data)), share)
        found = [(text, spans) for text in texts if (spans := find_instructions(text))]
        flagged, total = flagged + len(found), total + len(texts)
        print(
            f"{name}: {len(found)} of {len(texts)} flagged, {_cost_ms(texts):.2f} ms of CPU for"
            " 10 KB"
        )
        for text, spans in found if options.show else ():
            print(
                *(f"    {span.kind}: {text[span.start : span.end]!r}" for span in spans), sep="\n"
            )
    print(f"in all: {flagged} of {total} flagged, {flagged / total:.2%}")
    sys.exit(flagged / total >= MOST_SHARE)


def _sample(texts: list[str], count: int) -> list[str]:
    return random.Random(SEED).sample(texts, min(count, len(texts)))


def _cost_ms(texts: Sequence[str]) -> float:
    """Return the median CPU time of looking through an answer of 10 KB."""
    answers: list[list[str]] = [[]]
    for text in texts:
        if sum(len(one.encode()) for one in answers[-1]) >= ANSWER_BYTES:
            answers.append([])
        answers[-1].append(text)
    times = []
    for answer in answers[:100]:
        started = time.process_time()
        find_in_texts(answer)
        times.append((time.process_time() - started) * 1000)
    return sorted(times)[len(times) // 2]


def _iter_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        unpacked = io.TextIOWrapper(zstd.ZstdFile(file), encoding="utf-8")
        yield from map(json.loads, unpacked)


def _iter_documents(path: Path) -> Iterator[str]:
    with (
        path.open("rb") as file,
        zstd.ZstdFile(file) as unpacked,
        tarfile.open(fileobj=unpacked, mode="r|") as archive,
    ):
        for member in archive:
            opened = archive.extractfile(member) if member.name.endswith(".md") else None
            text = opened.read().decode("utf-8", "replace") if opened else ""
            yield from (passage.text for passage in split_passages(text))


if __name__ == "__main__":
    main()
