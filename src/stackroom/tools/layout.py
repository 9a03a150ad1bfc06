"""Tools over every catalogue of one layout: choosing a catalogue, and naming the catalogue of a
record.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic.json_schema import SkipJsonSchema

from stackroom.errors import InputError, StorageError, did_you_mean
from stackroom.model.principal import Principal
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
from stackroom.tools.faces.mcp import CHOICE
from stackroom.tools.schema import is_none
from stackroom.tools.spec import ToolResult, ToolSpec


class FromCatalogue(ToolResult):
    """A part of an answer that names its catalogue where several of the layout are served; not in
    the schema.
    """

    catalogue: Annotated[str | None, SkipJsonSchema()] = Field(default=None, exclude_if=is_none)


class LayoutCatalogues:
    """The catalogues of one layout. A tool's `run` takes `catalogue`, the name that a call chose,
    as a keyword.
    """

    def __init__(self, catalogues: Sequence[OpenCatalogue]) -> None:
        self._catalogues = {catalogue.name: catalogue for catalogue in catalogues}
        self.is_several = len(catalogues) > 1

    def label(self, name: str) -> str | None:
        """Return a catalogue's name where answers include it, else None."""
        return name if self.is_several else None

    def views(self, chosen: str | None) -> ByCatalogue[CatalogueView]:
        """Open the chosen catalogue, or every one that can be read."""
        if chosen is None:
            return ask_each(self._catalogues, OpenCatalogue.view)
        chosen, known = meant(chosen, self._catalogues), list(self._catalogues)
        if chosen not in known:
            hint = did_you_mean(chosen, known)
            raise InputError(
                f"'catalogue': no '{chosen[:80]}'{hint}; there are: {', '.join(known)}"
            )
        return ask_each({chosen: self._catalogues[chosen]}, OpenCatalogue.view)

    def view(self, name: str) -> CatalogueView:
        """Open one catalogue by its name."""
        return self._catalogues[name].view()

    def find_one(
        self,
        views: ByCatalogue[CatalogueView],
        stated: str,
        find: Callable[[CatalogueView, str], Record | None],
    ) -> FoundRecord | None:
        """Return the record that an id or a name means; raise InputError where several catalogues
        have it.

        Where no readable catalogue has it and another cannot be read, raise StorageError.
        """
        name, _, rest = stated.removeprefix(SCHEME).partition("/")
        if self.is_several and name in views.found and rest:
            views, stated = ByCatalogue(found={name: views.found[name]}, skipped=[]), rest
        asked = ask_each(views.found, lambda view: find(view, stated))
        having = [
            FoundRecord(views.found[name], one)
            for name, one in asked.found.items()
            if one is not None
        ]
        if not having and (unread := [*views.skipped, *asked.skipped]):
            raise StorageError(
                f"'{stated[:200]}' was not found, but {' and '.join(unread)} cannot be read; try"
                " later"
            )
        if len(having) > 1:
            names = [one.view.name for one in having]
            right = f"give one of them as 'catalogue', or ask for '{names[0]}/{stated[:200]}'"
            raise InputError(f"'{stated[:200]}' is in {' and '.join(names)}; {right}")
        return having[0] if having else None

    def require_one(self, views: Mapping[str, CatalogueView], why: str) -> CatalogueView:
        """Return the only view; raise InputError, with the reason, where the call must choose a
        catalogue.
        """
        if len(views) > 1:
            raise InputError(f"'catalogue' is missing: {why}; one of: {', '.join(views)}")
        return next(iter(views.values()))

    def declare(self, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
        """Return the tools, with an argument to choose a catalogue where there are several."""
        if not self.is_several:
            return [tool.over(self._catalogues) for tool in tools]
        return [self._with_choice(tool) for tool in tools]

    def _with_choice(self, tool: ToolSpec) -> ToolSpec:
        def run(principal: Principal, params: Any) -> ToolResult:
            return tool.run(principal, params, catalogue=params.catalogue)

        def reads(params: Any) -> Iterable[str]:
            return (
                self._catalogues
                if params.catalogue is None
                else [meant(params.catalogue, self._catalogues)]
            )

        return replace(
            tool,
            description=f"{tool.description} Catalogues: {', '.join(self._catalogues)}.",
            params=create_model(
                tool.params.__name__, __base__=tool.params, catalogue=(str | None, CHOICE)
            ),
            run=run,
            reads=reads,
            properties={
                **tool.properties,
                "catalogue": {"type": "string", "enum": list(self._catalogues)},
            },
        )


def shown_id(record_id: object, catalogue: str | None) -> str:
    """Return an id for display: `CATALOGUE/ID` where several catalogues are served."""
    return f"{catalogue}/{record_id}" if catalogue else str(record_id)
