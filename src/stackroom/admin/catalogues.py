"""Catalogues as their owner changes them: removed, renamed, described, and brought back within a
day.

A running server follows at its next call. The records are moved as a folder, in one step, while
nothing writes to them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from pydantic import Field

from stackroom.admin.declare import admin_operation
from stackroom.errors import ConflictError, InputError, StorageError
from stackroom.ingest.ledger import note_present_records
from stackroom.library import LEDGER_FILE, Installed, require_name
from stackroom.model.principal import Action
from stackroom.shelf.lock import EMBEDDING_LOCK_FILE, CatalogueLock
from stackroom.shelf.opening import iter_bodies
from stackroom.shelf.store_place import find_place
from stackroom.tools.operation import (
    Call,
    Command,
    Needs,
    Operation,
)
from stackroom.tools.spec import GenericParams, GenericResult, optional

LOCK_TIMEOUT_S = 2.0


class NamedCatalogue(GenericParams):
    """A catalogue by name."""

    name: str = Field(max_length=200, description="the catalogue's name")


class RenameCatalogue(NamedCatalogue):
    """A catalogue, and its new name."""

    new: str = Field(
        max_length=200, description="its new name: lower-case letters, digits, '-' and '_'"
    )


class DescribeCatalogue(NamedCatalogue):
    """A catalogue, and what people and assistants are told of it."""

    title: str | None = optional("its title; '' for that of its spec", max_length=120)
    summary: str | None = optional("one sentence; '' for that of its spec", max_length=600)
    editable: bool | None = optional("let its records be edited, by those with EditCatalog")


class CatalogueChanged(GenericResult):
    """A catalogue after a change."""

    name: str
    """Its name now."""
    done: str
    notes: list[str]


@contextmanager
def _held(place: Installed) -> Iterator[None]:
    """Hold a catalogue's locks; raise BusyError while an update of it runs."""
    with (
        CatalogueLock(place.folder, place.name).held(LOCK_TIMEOUT_S),
        CatalogueLock(place.folder, place.name, file=EMBEDDING_LOCK_FILE).held(LOCK_TIMEOUT_S),
    ):
        yield


def _get(call: Call, name: str) -> Installed:
    """Return a catalogue that the caller sees, also one that servers have not opened yet."""
    sees = call.principal.visibility.sees_catalogue
    call.require_catalogue(
        name, among=[one.name for one in call.library.list_installed() if sees(one.name)]
    )
    return call.library.get_installed(name)


def _change(
    name: str, rest: str, command: Command
) -> Callable[[Callable[[Call, Any], CatalogueChanged]], Operation[Any, CatalogueChanged]]:
    """Declare a change of a catalogue."""
    return admin_operation(
        name,
        rest,
        command,
        needs=Needs(any_of=(Action.SERVER_ADMIN,)),
        text=lambda result: "\n".join([result.done, *result.notes]),
    )


@_change(
    "catalogue/remove",
    "DELETE /v1/catalogues/{name}",
    Command("remove", example="films"),
)
def remove(call: Call, params: NamedCatalogue) -> CatalogueChanged:
    """Remove the catalogue NAME; it is kept for a day.

    Servers that run stop serving it at their next call. To bring it back: stackroom undo NAME
    """
    place = _get(call, params.name)
    call.library.purge(now=time.time())
    notes = [f"it is kept for a day; to bring it back: stackroom undo {place.name}"]
    with suppress(StorageError):  # a damaged file is removed too
        if (database := find_place(place.folder)) is not None:
            notes.append(
                f"schemas {database.schema}* stay in {database.shown}; drop them once no server"
                " uses them"
            )
    with _held(place):
        call.library.set_aside(place.name, now=time.time())
    return CatalogueChanged(name=place.name, done=f"'{place.name}' is removed", notes=notes)


@_change(
    "catalogue/rename",
    "POST /v1/catalogues/{name}/rename",
    Command("rename", example="films movies"),
)
def rename(call: Call, params: RenameCatalogue) -> CatalogueChanged:
    """Give the catalogue NAME the name NEW.

    Records, edits, sources, releases, restrictions, tokens, schedules and figures of use move with
    it. The audit, addresses that people keep, and settings go on with the former name.
    """
    place, new = _get(call, params.name), params.new
    if new == place.name:
        raise InputError(f"'new': '{new}' is its name already; give another")
    return _moved(call, place, new)


def _moved(call: Call, place: Installed, new: str) -> CatalogueChanged:
    """Rename a catalogue together with what accounts have of it."""
    require_name(new)
    call.library.require_free(new)
    in_step = (
        control.access.renaming(place.name, new)
        if (control := call.office.control)
        else nullcontext()
    )
    with _held(place), in_step:
        call.library.rename(place.name, new, now=time.time())
    return CatalogueChanged(name=new, done=f"'{place.name}' is called '{new}' now", notes=[])


@_change(
    "catalogue/describe",
    "POST /v1/catalogues/{name}/describe",
    Command("describe", example="films --title 'Films we own' --editable"),
)
def describe(call: Call, params: DescribeCatalogue) -> CatalogueChanged:
    """Change the title and the summary of the catalogue NAME, and whether its records can be
    edited.

    They take the place of what its spec says, also for a catalogue of a package.
    """
    place = _get(call, params.name)
    chosen = params.model_dump(exclude={"name"}, exclude_none=True)
    if not chosen:
        raise InputError("give 'title', 'summary' or 'editable': what is to change")
    with _held(place):
        if params.editable:
            note_present_records(place.folder / LEDGER_FILE, iter_bodies(place.folder))
        call.library.describe(replace(place, **chosen))
    return CatalogueChanged(
        name=place.name, done=f"'{place.name}' is described anew: {', '.join(chosen)}", notes=[]
    )


@_change(
    "catalogue/undo",
    "POST /v1/catalogues/{name}/undo",
    Command("undo", example="films"),
)
def undo(call: Call, params: NamedCatalogue) -> CatalogueChanged:
    """Bring back the catalogue NAME, which was removed or renamed within a day."""
    name, library = params.name, call.library
    require_name(name)
    kept = library.find_removed(name)
    if kept is not None and kept.is_file() and not (library.folder / name).exists():
        return _moved(call, _get(call, kept.read_text()), name)
    if call.principal.visibility.only is not None:
        raise ConflictError(
            "a token that is confined to catalogues brings none back: use one for all catalogues"
        )
    library.put_back(name)
    return CatalogueChanged(name=name, done=f"'{name}' is back as it was", notes=[])


CATALOGUE_OPERATIONS = (remove, rename, describe, undo)
