"""Column names and cells, as all table formats share them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import compress, pairwise
from pathlib import Path
from typing import Any

from stackroom.errors import InputError, did_you_mean

MOST_NAMED = 50


def require_name(names: list[str], wanted: str, *, kind: str, place: Path) -> str:
    """Return the name of a table or sheet, in any case, or refuse with those that there are."""
    known = {name.casefold(): name for name in reversed(names)} | {name: name for name in names}
    if found := known.get(wanted) or known.get(wanted.casefold()):
        return found
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    shown = f"{', '.join(names[:MOST_NAMED]) or 'none'}{more}"
    raise InputError(
        f"{place}: no {kind} '{wanted}'{did_you_mean(wanted, names)}; {kind}s: {shown}"
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """Make the names unique: a second `x` becomes `x_2`, and an unnamed third column `column_3`."""
    given = [name.strip() or f"column_{place}" for place, name in enumerate(names, start=1)]
    taken: set[str] = set()
    result = []
    for name in given:
        free, number = name, 2
        while free in taken or (free != name and free in given):
            free, number = f"{name}_{number}", number + 1
        taken.add(free)
        result.append(free)
    return result


def joined_names(headers: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns below several rows of headings; a heading spans the empty cells
    to its right.
    """
    width = max(map(len, headers))
    rows = [[*header, *[""] * (width - len(header))] for header in headers]
    spanned = [*map(_spread, rows[:-1]), _telling(rows[-2], rows[-1])]
    parts = ((part.strip() for part in column) for column in zip(*spanned, strict=True))
    return unique_names(" ".join(dict.fromkeys(filter(None, column))) for column in parts)


def _spread(headings: Sequence[str]) -> list[str]:
    """Return the headings with each repeated over the empty cells after it."""
    heading = ""
    return [heading := one if one.strip() else heading for one in headings]


def _telling(headings: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names without those that say nothing: the same one below several headings of one
    column each.
    """
    lone = [
        bool(one.strip() and following.strip()) for one, following in pairwise([*headings, "end"])
    ]
    repeated = {name for name, count in Counter(compress(names, lone)).items() if count > 1}
    return [
        "" if is_lone and name in repeated else name
        for name, is_lone in zip(names, lone, strict=True)
    ]


def text_in(cell: bytes) -> str | None:
    """Decode bytes as UTF-8 text; None for binary content such as an image."""
    try:
        text = cell.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def plain_value(value: Any) -> Any:
    """Return a cell as plain JSON values, dates and times; pairs become a mapping, bytes that are
    not text None.
    """
    if isinstance(value, bytes):
        return text_in(value)
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        return int(value) if isinstance(exponent, int) and exponent >= 0 else float(value)
    if isinstance(value, dict):
        return {name: plain_value(item) for name, item in value.items()}
    if isinstance(value, list):
        is_mapping = value and all(isinstance(item, tuple) for item in value)
        return (
            {str(key): plain_value(item) for key, item in value}
            if is_mapping
            else list(map(plain_value, value))
        )
    return str(value) if isinstance(value, timedelta) else value
