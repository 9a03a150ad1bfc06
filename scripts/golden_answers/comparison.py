"""Compares two recordings, call by call; and the surfaces of one recording with each other."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMED = ("stage", "surface", "as", "name", "arguments")
SHOWN = 300
MOST_SHOWN = 12
Call = dict[str, Any]


def load(path: Path) -> dict[str, Call]:
    """Return the calls of a recording, by what was asked; the same call again has a number."""
    seen: Counter[str] = Counter()
    calls: dict[str, Call] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        call = json.loads(line)
        key = " ".join(_as_text(call[name]) for name in NAMED)
        seen[key] += 1
        calls[f"{key} #{seen[key]}" if seen[key] > 1 else key] = call
    return calls


def compare(first: Path, second: Path) -> int:
    """Print every difference between two recordings; return how many calls differ."""
    before, after = load(first), load(second)
    differing = 0
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in after or key not in before:
            print(f"\n{key[:SHOWN]}\n  only in {first if key in before else second}")
            differing += 1
            continue
        found = list(differences(before[key]["answer"], after[key]["answer"]))
        if found:
            differing += 1
            print(f"\n{key[:SHOWN]}")
            for place, one, other in found[:MOST_SHOWN]:
                print(f"  {place or 'answer'}\n    - {one}\n    + {other}")
            if len(found) > MOST_SHOWN:
                print(f"  and {len(found) - MOST_SHOWN} more")
    print(f"\n{len(before)} calls and {len(after)} calls: {differing} differ")
    for name, counted in counts(after).items():
        print(f"  by {name}: {counted}")
    return differing


def differences(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield each place where two answers differ, with both values; the order of fields counts."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            if name not in after or name not in before:
                yield (
                    f"{place}.{name}",
                    _short(before.get(name, "(absent)")),
                    _short(after.get(name, "(absent)")),
                )
            else:
                yield from differences(before[name], after[name], f"{place}.{name}")
        if [*before] != [*after] and {*before} == {*after}:
            yield f"{place} (order of fields)", _short([*before]), _short([*after])
    elif isinstance(before, list) and isinstance(after, list):
        for number, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from differences(one, other, f"{place}[{number}]")
        if len(before) != len(after):
            yield f"{place} (how many)", str(len(before)), str(len(after))
    elif type(before) is not type(after) or before != after:
        yield (place, *_window(before, after))


def _window(before: Any, after: Any) -> tuple[str, str]:
    """Return two values, of long texts the part around the first difference."""
    if not (isinstance(before, str) and isinstance(after, str)):
        return _short(before), _short(after)
    pairs = enumerate(zip(before, after, strict=False))
    start = next((n for n, (one, other) in pairs if one != other), min(len(before), len(after)))
    begin = max(0, start - 60)
    return _short(before[begin:]), _short(after[begin:])


def compare_surfaces(path: Path) -> int:
    """Print where the same call has another structured answer over another surface."""
    asked: dict[str, list[Call]] = {}
    for call in load(path).values():
        if _structured(call) is not None:
            asked.setdefault(
                " ".join(_as_text(call[name]) for name in ("as", "name", "arguments")), []
            ).append(call)
    shared = {
        key: calls for key, calls in asked.items() if len({call["surface"] for call in calls}) > 1
    }
    differing = 0
    for key, (first, *others) in shared.items():
        for other in others:
            found = list(differences(_structured(first), _structured(other)))
            if found and first["surface"] != other["surface"]:
                differing += 1
                places = [f"{call['stage']} {call['surface']}" for call in (first, other)]
                print(f"\n{key[:SHOWN]}\n  {places[0]} and {places[1]}")
                for place, one, another in found[:3]:
                    print(f"  {place}\n    - {one}\n    + {another}")
    print(f"\n{len(shared)} calls over several surfaces: {differing} pairs differ")
    return differing


def _structured(call: Call) -> Any:
    """Return the structured answer of a tool that was called; None where it is none, or failed."""
    answer = call["answer"]
    if not isinstance(answer, dict) or "/" in call["name"]:
        return None
    if call["surface"] == "rest":
        return answer.get("body") if answer.get("status") == 200 else None
    return answer.get("result", {}).get("structuredContent")


def counts(calls: dict[str, Call]) -> dict[str, dict[str, int]]:
    """Return how many calls a recording has, by stage, surface and caller."""
    return {
        name: dict(Counter(str(call[name]) for call in calls.values()))
        for name in ("stage", "surface")
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
