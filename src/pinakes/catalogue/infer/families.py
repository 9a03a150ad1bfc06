"""Columns that are one field in several cells: `ingredient_1` to `ingredient_20`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pinakes.catalogue.cell_forms import Form
from pinakes.catalogue.compiler import FIELD_NAME
from pinakes.catalogue.infer.columns import is_code, is_link
from pinakes.catalogue.infer.fields import InferredField
from pinakes.catalogue.profile import ColumnProfile
from pinakes.catalogue.spec import FieldType

NUMBERED = re.compile(r"(.*?[^\W\d])[\s_.-]*(\d{1,2})", re.DOTALL)
FEWEST_MEMBERS = 3
LONGEST_ITEM = 40
LEAST_SHARED = 0.05
"""The share of the second column's values that the first one has as well."""
MARK = "|"
PLAIN_NAME = re.compile(r"[^{}|]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Numbered columns with values of one kind, and the name of the field that has all of them."""

    name: str
    columns: tuple[ColumnProfile, ...]


def find_families(
    columns: Sequence[ColumnProfile], names: Mapping[str, str], *, apart: Iterable[str] = ()
) -> list[Family]:
    """Return the families of numbered columns; `apart` are columns that stay fields of their own."""
    own = set(apart)
    members: dict[str, list[ColumnProfile]] = {}
    for column in columns:
        found = NUMBERED.fullmatch(column.name)
        if found and column.name not in own and _may_belong(column):
            members.setdefault(found[1], []).append(column)
    taken = set(names.values())
    families = []
    for some in members.values():
        if len(some) >= FEWEST_MEMBERS and _share_values(some):
            name = _name_of(names[some[0].name], taken)
            taken.add(name)
            families.append(Family(name=name, columns=tuple(some)))
    return families


def family_field(family: Family) -> InferredField:
    """Return the field that collects the values of a family's columns."""
    template = MARK.join(f"{{{column.name}}}" for column in family.columns)
    values = {text for column in family.columns for text in column.texts}
    reason = f"{len(family.columns)} columns, '{family.columns[0].name}' and so on, as one list: {len(values):,} values"
    return InferredField(
        name=family.name,
        column=template,
        template=template,
        type=FieldType.TAGS,
        split=MARK,
        searched=True,
        filtered=True,
        facet=True,
        reason=reason,
    )


def _may_belong(column: ColumnProfile) -> bool:
    """Tell whether a column has short texts that can be items of a list."""
    if column.form is not Form.TEXT or column.mean_length > LONGEST_ITEM or is_code(column) or is_link(column):
        return False
    return (
        not column.is_list and bool(PLAIN_NAME.fullmatch(column.name)) and not any(MARK in one for one in column.texts)
    )


def _share_values(columns: Sequence[ColumnProfile]) -> bool:
    """Tell whether the first two columns draw on the same values, too many to be grades."""
    first, second = set(columns[0].texts), set(columns[1].texts)
    return len(first | second) > FEWEST_MEMBERS and len(first & second) >= LEAST_SHARED * len(second)


def _name_of(numbered: str, taken: set[str]) -> str:
    """Return a name for the field: that of the first column without its number, unless another has it."""
    bare = numbered.rstrip("0123456789").rstrip("_")
    wanted = (bare, f"{bare}s", f"all_{bare}", f"{numbered}_list")
    return next((name for name in wanted if name not in taken and FIELD_NAME.fullmatch(name)), numbered)
