"""Tools over every catalogue of one layout: choosing a catalogue, and naming the catalogue of a
record.
"""

from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic.json_schema import SkipJsonSchema

from stackroom.errors import InputError, StorageError, did_you_mean
from stackroom.model.record import Record
from stackroom.search.names import SCHEME
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import (
    ByCatalogue,
    CatalogueView,
    FoundRecord,
    OpenCatalogue,
    ask_each,
)
from stackroom.tools.operation import Call
from stackroom.tools.schema import when_known
from stackroom.tools.spec import ToolResult


class FromCatalogue(ToolResult):
    """A part of an answer that names its catalogue where several of the layout are served; not in
    the schema.
    """

    catalogue: Annotated[str | None, SkipJsonSchema()] = when_known()


def label_of(call: Call, name: str) -> str | None:
    """Return a catalogue's name where answers include it, as several of the layout are served."""
    return name if len(call.catalogues) > 1 else None


def open_views(call: Call) -> ByCatalogue[CatalogueView]:
    """Open the catalogue that a call chooses, or every one that can be read."""
    catalogues = {catalogue.name: catalogue for catalogue in call.catalogues}
    if call.chosen is None:
        return ask_each(catalogues, OpenCatalogue.view)
    chosen, known = meant(call.chosen, catalogues), list(catalogues)
    if chosen not in known:
        hint = did_you_mean(chosen, known)
        raise InputError(f"'catalogue': no '{chosen[:80]}'{hint}; there are: {', '.join(known)}")
    return ask_each({chosen: catalogues[chosen]}, OpenCatalogue.view)


def find_one(
    call: Call,
    views: ByCatalogue[CatalogueView],
    stated: str,
    find: Callable[[CatalogueView, str], Record | None],
) -> FoundRecord | None:
    """Return the record that an id or a name means; raise InputError where several catalogues have
    it.

    Where no readable catalogue has it and another cannot be read, raise StorageError.
    """
    name, _, rest = stated.removeprefix(SCHEME).partition("/")
    if len(call.catalogues) > 1 and name in views.found and rest:
        views, stated = ByCatalogue(found={name: views.found[name]}, skipped=[]), rest
    asked = ask_each(views.found, lambda view: find(view, stated))
    having = [
        FoundRecord(views.found[name], one) for name, one in asked.found.items() if one is not None
    ]
    if not having and (unread := [*views.skipped, *asked.skipped]):
        raise StorageError(
            f"'{stated[:200]}' was not found, but {' and '.join(unread)} cannot be read; try later"
        )
    if len(having) > 1:
        names = [one.view.name for one in having]
        right = f"give one of them as 'catalogue', or ask for '{names[0]}/{stated[:200]}'"
        raise InputError(f"'{stated[:200]}' is in {' and '.join(names)}; {right}")
    return having[0] if having else None


def require_one(views: Mapping[str, CatalogueView], why: str) -> CatalogueView:
    """Return the only view; raise InputError, with the reason, where the call must choose a
    catalogue.
    """
    if len(views) > 1:
        raise InputError(f"'catalogue' is missing: {why}; one of: {', '.join(views)}")
    return next(iter(views.values()))


def shown_id(record_id: object, catalogue: str | None) -> str:
    """Return an id for display: `CATALOGUE/ID` where several catalogues are served."""
    return f"{catalogue}/{record_id}" if catalogue else str(record_id)
