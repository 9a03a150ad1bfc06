"""Columns that changed since a catalogue's spec was made: named, and taken into the spec where the user agrees."""

from dataclasses import dataclass
from pathlib import Path

import click

from stackroom.assembly.build import Recipe, own_recipe
from stackroom.assembly.column_changes import (
    ColumnChanges,
    Columns,
    adopt,
    compare_columns,
    load_columns,
    save_columns,
)
from stackroom.sources.port import RowSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The recipe to go on with, notes on changes that were left alone, and the columns to remember."""

    recipe: Recipe
    notes: tuple[str, ...] = ()
    columns: Columns | None = None


def settle_columns(source: RowSource, recipe: Recipe, folder: Path, *, adopts: bool, asks: bool) -> Settled:
    """Compare a source with the spec of the catalogue in a folder; take changes into it by option or by answer."""
    if not source.is_whole or not recipe.is_own:
        return Settled(recipe=recipe)
    known = load_columns(folder, source.name)
    compared = compare_columns(source, recipe.loaded, recipe.mapping, known=known)
    changes = compared.changes
    if asks:
        for line in changes.describe():
            click.echo(line)
    if not changes.can_be_adopted:
        return Settled(recipe=recipe, columns=compared.columns)
    if adopts or (asks and _agrees(changes)):
        return Settled(recipe=own_recipe(adopt(recipe.loaded, changes)), columns=compared.columns)
    if not asks:
        return Settled(recipe=recipe, notes=changes.notes, columns=compared.undecided(known or {}))
    return Settled(recipe=recipe, columns=compared.columns)


def remember_columns(source: RowSource, settled: Settled, folder: Path) -> None:
    """Note the columns of a source that was added, against which the next one is compared."""
    if not source.is_whole or not settled.recipe.is_own:
        return
    columns = settled.columns
    if columns is None:
        recipe = settled.recipe
        columns = compare_columns(source, recipe.loaded, recipe.mapping, known=None).columns
    save_columns(folder, source.name, columns)


def _agrees(changes: ColumnChanges) -> bool:
    many = len(changes.new) + len(changes.retyped) > 1
    return click.confirm(f"Take {'them' if many else 'it'} into the spec?", default=False)
