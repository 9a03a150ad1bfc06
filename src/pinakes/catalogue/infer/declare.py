"""Inference of a readable `catalogue.toml` from the columns of a table, with a reason for each choice.

Choices depend on the form of the cells, and on the words of a column's name where cells are ambiguous. A column whose
obvious type would reject some rows (a price column with one "on request") stays text, and the reason says so.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinakes.catalogue.compiler import FIELD_NAME
from pinakes.catalogue.infer.choices import NO_CHOICES, Choices, with_choices
from pinakes.catalogue.infer.fields import InferredField, field_of
from pinakes.catalogue.infer.parts import choose_id, choose_parts, chosen_id, is_bare_id, with_part
from pinakes.catalogue.infer.toml import write_toml
from pinakes.catalogue.profile import ColumnProfile, Form
from pinakes.errors import InputError

WIDE_TABLE = 200
KEPT_OF_WIDE = 60
NAME_LENGTH = 60
RESERVED = frozenset({"id", "kind", "catalogue", "score", "json", "limit"})
"""Names that records or commands use for something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inferred:
    """A proposed declaration: its text, its fields, and remarks for people."""

    declaration: str
    fields: tuple[InferredField, ...]
    left_out: tuple[tuple[str, str], ...]
    """The columns that have no field, each with the reason."""
    notes: tuple[str, ...]
    """Decisions about the table as a whole."""
    id_column: str | None = None
    """The column that identifies a row; None where ids are made of the rows."""


def infer_declaration(
    columns: Sequence[ColumnProfile], *, name: str, id_column: str | None = None, choices: Choices = NO_CHOICES
) -> Inferred:
    """Propose a declaration for a table, or refuse one that cannot be a catalogue; `name` is the catalogue's.

    `id_column` is the primary key that the source declares, if it does; `choices` are the user's, and come first.
    """
    if not columns or not columns[0].rows:
        raise InputError("it has no rows, so the types of its columns cannot be inferred")
    names = _field_names(columns)
    choices = choices.resolved(names)
    usable, left_out = _usable(columns, choices)
    id_profile, notes = chosen_id(usable, choices.id) if choices.id else choose_id(usable, id_column)
    parts = choose_parts(usable, id_profile, names, title=choices.title)
    fields = [with_part(field_of(column, names[column.name]), column, parts) for column in usable]
    shown = [field for field, column in zip(fields, usable, strict=True) if not is_bare_id(column, parts.id)]
    by_name = {column.name: column for column in usable}
    shown = with_choices(shown, by_name, choices)
    shown = [parts.title, *(field for field in shown if field.column != parts.title.column)]
    if len(shown) > WIDE_TABLE:
        shown, dropped = _most_useful(shown, by_name)
        left_out += [(column, "one of the less useful of very many columns") for column in dropped]
        notes.append(f"of {len(columns)} columns the {KEPT_OF_WIDE} most useful became fields")
    return Inferred(
        declaration=write_toml(name, parts.id, shown),
        fields=tuple(shown),
        left_out=tuple(left_out),
        notes=tuple(notes),
        id_column=parts.id.name if parts.id else None,
    )


def catalogue_name(text: str) -> str:
    """Return a valid catalogue name for a text, such as a file's name."""
    bare = "-".join(re.findall(r"[a-z0-9_]+", _latin(text).lower())).strip("-_")
    if not bare or not bare[0].isalpha():
        bare = f"catalogue-{bare}".rstrip("-")
    return bare[:NAME_LENGTH].rstrip("-_")


def _usable(columns: Sequence[ColumnProfile], choices: Choices) -> tuple[list[ColumnProfile], list[tuple[str, str]]]:
    """Return the columns that can become fields, and the others with the reason why not."""
    usable: list[ColumnProfile] = []
    left_out: list[tuple[str, str]] = []
    first_with: dict[str, str] = {}
    for column in columns:
        twin = first_with.setdefault(column.fingerprint, column.name)
        if column.name in choices.drop:
            left_out.append((column.name, "you left it out"))
        elif column.name in choices.keep:
            usable.append(column)
        elif not column.filled:
            left_out.append((column.name, "it is empty"))
        elif not column.name.strip() or not _is_writable(column.name):
            left_out.append((column.name, "its name is empty or cannot be encoded"))
        elif column.form is Form.BYTES:
            left_out.append((column.name, "it holds bytes, not text"))
        elif twin != column.name and column.distinct >= 10:
            left_out.append((column.name, f"it holds the same as '{twin}'"))
        else:
            usable.append(column)
    return usable, left_out


def _is_writable(name: str) -> bool:
    return name.encode(errors="replace").decode() == name


def _latin(text: str) -> str:
    """Return the Latin letters and digits of a text without accents; other scripts are dropped."""
    spelt = text.replace("ß", "ss").replace("æ", "ae").replace("ø", "o").replace("ł", "l")
    return unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()


def _field_names(columns: Sequence[ColumnProfile]) -> dict[str, str]:
    """Return a unique valid field name for each column: its own name if valid, else made of its words."""
    names: dict[str, str] = {}
    taken = set(RESERVED)
    for place, column in enumerate(columns, start=1):
        wanted = column.name if FIELD_NAME.fullmatch(column.name) else _legal(column, place)
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted[:NAME_LENGTH]}_{number}", number + 1
        taken.add(name)
        names[column.name] = name
    return names


def _legal(column: ColumnProfile, place: int) -> str:
    letters = [character for character in column.name if character.isalnum()]
    words = [_latin(word) for word in column.words]
    kept = "_".join(word for word in ("".join(re.findall(r"\w+", one)) for one in words) if word)[:NAME_LENGTH]
    if 2 * len(kept.replace("_", "")) < len(letters) or not kept:
        return f"column_{place}"
    return kept if kept[0].isalpha() else f"column_{kept}"


def _most_useful(
    fields: Sequence[InferredField], columns: Mapping[str, ColumnProfile]
) -> tuple[list[InferredField], list[str]]:
    """Return the most useful fields, in the table's order, and the columns of the others."""

    def worth(field: InferredField) -> tuple[bool, float]:
        column = columns.get(field.column)
        filled = column.filled_share if column else 1.0
        varied = column is None or column.distinct > 1
        return field.role is not None, (filled + 0.5 * field.searched + 0.5 * field.facet) * (1 if varied else 0.1)

    kept = {field.name for field in sorted(fields, key=worth, reverse=True)[:KEPT_OF_WIDE]}
    return (
        [field for field in fields if field.name in kept],
        [field.column for field in fields if field.name not in kept],
    )
