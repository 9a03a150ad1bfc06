"""Tables of attributes: several rows describe one thing, each with its name, an attribute and the value of that."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from stackroom.sources.port import SourceRow

ATTRIBUTE = re.compile(
    r"\s*(attributes?|propert(y|ies)|keys?|fields?|variables?|parameters?|features?|characteristics?|attribut|merkmal"
    r"|eigenschaft|propri[eé]t[eé]|caract[eé]ristique|attributo|propriet[aà]|atributo|campo|propiedad)\s*",
    re.IGNORECASE,
)
VALUE = re.compile(r"\s*(values?|info|content|text|wert|valeur|valore?s?|inhalt)\s*", re.IGNORECASE)
FEWEST_TIMES = 3
"""How many rows an attribute has at least, on average."""


class Pairs(NamedTuple):
    """The columns of the name of a thing, of its attributes and of their values."""

    thing: str
    attribute: str
    value: str

    def __str__(self) -> str:
        how = f"each '{self.attribute}' is a column, as several rows describe one '{self.thing}'"
        return f"{how}; --no-pairs reads the rows as they are"


def find_pairs(rows: Sequence[SourceRow]) -> Pairs | None:
    """Return the columns of a table of attributes by its first rows; None for any other table."""
    columns = {column: None for row in rows for column in row.values}
    attribute = next(filter(ATTRIBUTE.fullmatch, columns), "")
    value = next(filter(VALUE.fullmatch, columns), "")
    others = [column for column in columns if column not in (attribute, value)]
    if len(columns) != len(Pairs._fields) or len(others) != 1:
        return None
    named = [(row.values.get(others[0]), row.values.get(attribute)) for row in rows if not row.problem]
    if not all(isinstance(name, str) and name.strip() for _, name in named):
        return None
    things, attributes = ({cells[place] for cells in named} for place in (0, 1))
    is_described = 2 * len(things) <= len(set(named)) and FEWEST_TIMES * len(attributes) <= len(named)
    return Pairs(others[0], attribute, value) if is_described and len(attributes) > 1 else None


def iter_things(rows: Iterable[SourceRow], pairs: Pairs) -> Iterator[SourceRow]:
    """Yield a row for each thing, in the place of its first row; an attribute that it has several times is a list."""
    things: dict[Any, tuple[str, dict[str, list[Any]]]] = {}
    for row in rows:
        if row.problem:
            yield row
            continue
        thing, attribute, value = (row.values.get(column) for column in pairs)
        things.setdefault(thing, (row.place, {}))[1].setdefault(str(attribute).strip(), []).append(value)
    for thing, (place, found) in things.items():
        values = {name: cells[0] if len(cells) == 1 else cells for name, cells in found.items()}
        yield SourceRow(place=place, values={pairs.thing: thing, **values})
