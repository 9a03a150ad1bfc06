"""The report of a chaos run, as Markdown."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from chaos.record import FaultEntry
from chaos.run import Outcome


def write_report(outcome: Outcome, *, seed: int, minutes: float) -> str:
    """Return what happened, what was acknowledged, and what was wrong."""
    return "\n".join(_lines(outcome, seed, minutes)) + "\n"


def _lines(outcome: Outcome, seed: int, minutes: float) -> Iterator[str]:
    record, done = outcome.record, outcome.acknowledged
    calls = sum(record.outcomes.values())
    yield (
        f"{minutes:.0f} minutes, seed {seed}: {len(record.faults)} faults, {outcome.starts} starts"
        " of two servers,"
    )
    yield (
        f"{calls:,} calls; acknowledged: {done['edits']:,} edits, {done['albums']} albums,"
        f" {done['users']} users."
    )
    yield f"Lost or wrong: {len(outcome.problems) or 'nothing'}."
    if not outcome.has_disk:
        yield "The disk was not filled: mounting one of its own needs root."
    yield ""
    yield "| fault | times | told by | told after (worst) | well again after (worst) |"
    yield "|---|---|---|---|---|"
    for name, entries in _grouped(record.faults).items():
        told = [one.told_after_s for one in entries if one.told_after_s is not None]
        well = [one.well_after_s for one in entries if one.well_after_s is not None]
        by = Counter(one.told_by for one in entries).most_common(1)[0][0] or "–"
        yield f"| {name} | {len(entries)} | {by} | {_worst(told)} | {_worst(well)} |"
    yield ""
    yield "| calls of | " + " | ".join(sorted(_outcomes(outcome))) + " | slowest |"
    yield "|---|" + "---|" * (len(_outcomes(outcome)) + 1)
    for actor in sorted({actor for actor, _outcome in record.outcomes}):
        counts = [str(record.outcomes[actor, name] or "") for name in sorted(_outcomes(outcome))]
        yield f"| {actor} | " + " | ".join(counts) + f" | {record.slowest_s[actor]:.1f} s |"
    yield ""
    yield (
        "Most memory: "
        + ", ".join(f"{name} {mb:.0f} MB" for name, mb in sorted(record.most_memory_mb.items()))
        + "."
    )
    if record.notes:
        most = "; ".join(f"“{note}” {count:,} ×" for note, count in record.notes.most_common(4))
        yield f"Notes of searches, whose answers were not compared: {most}."
    if record.before_check:
        total = sum(record.before_check.values())
        yield f"Between a flipped bit and the end of its check, {total} answers differed."
    for problem in outcome.problems[:100]:
        yield f"- {problem}"


def _outcomes(outcome: Outcome) -> set[str]:
    return {name for _actor, name in outcome.record.outcomes}


def _grouped(faults: Sequence[FaultEntry]) -> dict[str, list[FaultEntry]]:
    groups: dict[str, list[FaultEntry]] = defaultdict(list)
    for one in faults:
        groups[re.sub(r" \(.*", "", one.name)].append(one)
    return groups


def _worst(seconds: Sequence[float]) -> str:
    return f"{max(seconds):.1f} s" if seconds else "–"
