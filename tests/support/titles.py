"""Title indexes of a few names."""

from collections.abc import Iterable, Sequence

from stackroom.text.titles import TitleArrays, TitleArraysBuilder


def build_title_arrays(names_by_row: Iterable[Sequence[str]]) -> TitleArrays:
    """Index the names of each row."""
    builder = TitleArraysBuilder()
    for names in names_by_row:
        builder.add(names)
    return builder.build()
