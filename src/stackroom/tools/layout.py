"""The catalogues of one call to the tools of a package: opened, searched and asked together."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic.json_schema import SkipJsonSchema

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError, StorageError, did_you_mean
from stackroom.frozen import frozen
from stackroom.model.hits import FacetCount
from stackroom.model.principal import Principal
from stackroom.model.record import Record
from stackroom.model.scope import Condition, Scope
from stackroom.recommend.recommender import Recommendations, Request
from stackroom.search.names import SCHEME
from stackroom.search.values import Label, argument_of
from stackroom.text.normalise import meant
from stackroom.tools.catalogue import (
    ByCatalogue,
    CatalogueView,
    FoundRecord,
    OpenCatalogue,
    ask_each,
)
from stackroom.tools.filters import parse_exclusions, require_excludable
from stackroom.tools.finding import CatalogueScopes, ScopeRequest, scope_each
from stackroom.tools.operation import Call
from stackroom.tools.spec import ToolResult, when_known


class FromCatalogue(ToolResult):
    """A part of an answer that names its catalogue where several of the layout are served; not in
    the schema.
    """

    catalogue: Annotated[str | None, SkipJsonSchema()] = when_known()


@frozen
class Views(ByCatalogue[CatalogueView]):
    """The catalogues that a call reads, each at one moment, and the names of those that cannot be
    read.
    """

    principal: Principal
    has_choice: bool = False  # whether a record may be named as `CATALOGUE/ID`

    @classmethod
    def of(cls, call: Call) -> "Views":
        """Open the catalogue that a call chooses, or every one that can be read."""
        catalogues, chosen = {one.name: one for one in call.catalogues}, call.chosen
        if chosen is not None:
            chosen, known = meant(chosen, catalogues), list(catalogues)
            if chosen not in known:
                raise InputError(
                    f"'catalogue': no '{chosen[:80]}'{did_you_mean(chosen, known)}; there are:"
                    f" {', '.join(known)}"
                )
            catalogues = {chosen: catalogues[chosen]}
        return cls.open(catalogues.values(), call.principal, has_choice=len(call.catalogues) > 1)

    @classmethod
    def open(
        cls, catalogues: Iterable[OpenCatalogue], principal: Principal, *, has_choice: bool = False
    ) -> "Views":
        """Open those of some catalogues that can be read."""
        opened = ask_each({one.name: one for one in catalogues}, OpenCatalogue.view)
        return cls(
            found=opened.found, skipped=opened.skipped, principal=principal, has_choice=has_choice
        )

    def only(self, names: Iterable[str], skipped: Sequence[str]) -> "Views":
        """Return some of the catalogues, with the names of those that were skipped."""
        return replace(
            self, found={name: self.found[name] for name in names}, skipped=list(skipped)
        )

    @property
    def scope(self) -> Scope:
        """Every record that the caller may see."""
        return Scope(visibility=self.principal.visibility)

    def require_one(self, why: str) -> CatalogueView:
        """Return the only view; raise InputError, with the reason, where the call must choose a
        catalogue.
        """
        if len(self.found) > 1:
            raise InputError(f"'catalogue' is missing: {why}; one of: {', '.join(self.found)}")
        return next(iter(self.found.values()))

    def find_one(
        self, stated: str, find: Callable[[CatalogueView, str], Record | None]
    ) -> FoundRecord | None:
        """Return the record that an id or a name means; raise InputError where several catalogues
        have it.

        Where no readable catalogue has it and another cannot be read, raise StorageError.
        """
        views = self
        name, _, rest = stated.removeprefix(SCHEME).partition("/")
        if self.has_choice and name in self.found and rest:
            views, stated = self.only([name], ()), rest
        asked = views.ask(lambda view: find(view, stated))
        having = [
            FoundRecord(self.found[name], one)
            for name, one in asked.found.items()
            if one is not None
        ]
        if not having and asked.skipped:
            raise StorageError(
                f"'{stated[:200]}' was not found, but {' and '.join(asked.skipped)} cannot be read;"
                " try later"
            )
        if len(having) > 1:
            names = [one.view.name for one in having]
            right = f"give one of them as 'catalogue', or ask for '{names[0]}/{stated[:200]}'"
            raise InputError(f"'{stated[:200]}' is in {' and '.join(names)}; {right}")
        return having[0] if having else None

    def scoped(
        self,
        query: str = "",
        conditions: Sequence[Condition] = (),
        *,
        within: Sequence[Condition] = (),
        exclude: Mapping[str, Any] | None = None,
        label: Label = argument_of,
        with_adult: bool = False,
    ) -> CatalogueScopes:
        """Return the scope of a call in each catalogue: its conditions, with values by any
        spelling, and without what it excludes, by field.

        `within` are conditions of the tool itself; `label` returns the argument that a condition
        came from; `with_adult` tells whether adult records are asked for too.
        """
        excluded = exclude or {}
        require_excludable(excluded, [view.spec for view in self.found.values()])

        def stated(spec: CatalogueSpec) -> list[Condition]:
            return [*conditions, *parse_exclusions(excluded, spec)]

        asked = ScopeRequest(
            query=query,
            visibility=self.principal.visibility,
            conditions=stated,
            label=label,
            with_adult=lambda _spec: with_adult,
            within=tuple(within),
        )
        return scope_each(self, asked)

    def facets(self, field: str, scope: Scope) -> list[FacetCount]:
        """Return the values of a field in all catalogues, with how many records have each, most
        frequent first; those of a single catalogue keep its order.
        """
        counts: Counter[tuple[str, str]] = Counter()
        for view in self.found.values():
            for facet in view.reader.facets(field, scope=scope):
                counts[facet.category, facet.value] += facet.count
        return [
            FacetCount(category, value, count) for (category, value), count in counts.most_common()
        ]

    def recommend(
        self, titles: Sequence[str], *, preferences: str, exclude: Sequence[str], limit: int
    ) -> ByCatalogue[Recommendations]:
        """Recommend from each catalogue that has one of the titles; raise InputError where none
        has.
        """
        request = Request(
            titles=tuple(titles), preferences=preferences, exclude=tuple(exclude), limit=limit
        )

        def recommend_or_refuse(view: CatalogueView) -> Recommendations | InputError:
            try:
                return view.recommend(request, scope=self.scope)
            except InputError as error:
                return error

        asked = self.ask(recommend_or_refuse)
        refused = [one for one in asked.found.values() if isinstance(one, InputError)]
        found = {name: one for name, one in asked.found.items() if isinstance(one, Recommendations)}
        if not found:
            raise refused[0]
        return ByCatalogue(found=found, skipped=asked.skipped)
