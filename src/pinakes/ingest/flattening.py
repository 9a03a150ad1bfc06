"""Rows with nested objects as rows of plain columns, named by the paths of their values.

The keys of an object are columns, unless they are data: an object such as `{"EUR": {…}}`, with other keys in other
rows, is a list of what it holds, under the path `currencies.*.name`. Columns such as `ingredient1`, `ingredient2` and
so on, of which later ones are filled less often, are one list, under the path `ingredient#`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pinakes.ingest.paths import EVERY, NUMBERED, value_at
from pinakes.text.cells import is_nothing, read_number

FEWEST_KEYS = 8
MOST_SHARED = 0.3
"""The share of all keys that the average row may have, where the keys are data."""
NUMBER_AT_END = re.compile(r"(.*\D)(\d{1,3})")
FEWEST_NUMBERED = 3
MOST_FILLED_LAST = 0.8
"""The share of the rows with a first item that may have a last one, where numbered columns are a list."""
MOST_REPEATING = 0.3
"""The share of rows that may have a value twice, where numbered columns are a list: answers to questions repeat."""
MOST_NUMBERS = 0.5


def flattened_rows(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows with nested objects flattened into columns, and numbered columns that are items of a list as one."""
    flat = _without_objects(rows)
    lists = _numbered_lists(flat)
    return [_with_lists(row, lists) for row in flat] if lists else flat


def _without_objects(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows with the values of nested objects as columns; rows without any, as of most files, as they are."""
    kinds = {type(value) for row in rows for value in row.values()}
    if not any(issubclass(kind, Mapping) for kind in kinds):
        return list(rows)
    keyed = frozenset(_keyed_paths(rows))
    return [_flattened(row, keyed) for row in rows]


def _flattened(row: Mapping[str, Any], keyed: frozenset[str], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        place = f"{path}{name}"
        if not isinstance(value, Mapping) or not value or "." in name:
            flat[place] = value
        elif place in keyed:
            flat |= {f"{place}.{steps}": value_at(value, steps) for steps in _leaves(value)}
        else:
            flat |= _flattened(value, keyed, f"{place}.")
    return flat


def _leaves(value: Mapping[str, Any]) -> dict[str, None]:
    """Return the paths to the plain values of an object whose keys are data, in order."""
    inner = (_paths_in(one) for one in value.values())
    return dict.fromkeys(".".join((EVERY, *steps)) for paths in inner for steps in paths)


def _paths_in(value: Any) -> Iterator[tuple[str, ...]]:
    """Yield the paths to the plain values in a value."""
    if not isinstance(value, Mapping):
        yield ()
        return
    for name, inner in value.items():
        if "." not in name:
            yield from ((name, *steps) for steps in _paths_in(inner))


def _keyed_paths(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the paths of the objects whose keys are data."""
    keys: dict[str, Counter[str]] = {}
    seen: Counter[str] = Counter()
    for row in rows:
        for path, value in _objects(row):
            seen[path] += 1
            keys.setdefault(path, Counter()).update(value.keys())
    for path, counted in keys.items():
        shared = counted.total() / (seen[path] * len(counted))
        if len(counted) >= FEWEST_KEYS and shared <= MOST_SHARED:
            yield path


def _objects(row: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every nested object of a row with its path."""
    for name, value in row.items():
        if isinstance(value, Mapping) and value and "." not in name:
            yield f"{path}{name}", value
            yield from _objects(value, f"{path}{name}.")


def _numbered_lists(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the columns that are items of a list, each with the path of the list."""
    numbered: dict[str, dict[int, str]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        if found := NUMBER_AT_END.fullmatch(name):
            numbered.setdefault(found[1], {})[int(found[2])] = name
    runs = {start: [names[number] for number in sorted(names)] for start, names in numbered.items() if _is_run(names)}
    lists = {start: names for start, names in runs.items() if _is_list(rows, names)}
    lengths = {len(names) for names in lists.values()}
    beside = {start: names for start, names in runs.items() if len(names) in lengths and _is_text(rows, names)}
    return {name: f"{start}{NUMBERED}" for start, names in (lists | beside).items() for name in names}


def _is_run(numbers: Mapping[int, str]) -> bool:
    """Tell whether these are at least three numbers without a gap, from 0 or 1 on."""
    return len(numbers) >= FEWEST_NUMBERED and min(numbers) <= 1 and max(numbers) - min(numbers) + 1 == len(numbers)


def _is_list(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    """Tell whether columns are the items of a list: later ones are filled less often, and a row has no item twice."""
    filled = [sum(not is_nothing(row.get(name)) for row in rows) for name in names]
    if filled[-1] > MOST_FILLED_LAST * filled[0] or any(after > before for before, after in pairwise(filled)):
        return False
    items = [[str(row[name]) for name in names if not is_nothing(row.get(name))] for row in rows]
    repeating = sum(len(set(one)) < len(one) for one in items)
    return repeating <= MOST_REPEATING * len(rows) and _is_text(rows, names)


def _is_text(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> bool:
    """Tell whether most of the cells are texts, and no numbers."""
    cells = [row[name] for row in rows for name in names if not is_nothing(row.get(name))]
    texts = [cell for cell in cells if isinstance(cell, str)]
    numbers = sum(read_number(text) is not None for text in texts)
    return bool(cells) and len(texts) == len(cells) and numbers <= MOST_NUMBERS * len(cells)


def _with_lists(row: Mapping[str, Any], lists: Mapping[str, str]) -> dict[str, Any]:
    """Return a row with the items of lists in one column each."""
    listed = {lists[name]: value_at(row, lists[name]) for name in row if name in lists}
    made: dict[str, Any] = {}
    for name, value in row.items():
        path = lists.get(name)
        made[path or name] = listed[path] if path else value
    return made
