"""What was understood of a query, as filters beside those that were given: for pages, which draw them."""

from collections.abc import Mapping
from typing import Any

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.generic.shapes import SearchParams, Understood, UnderstoodPhrase
from stackroom.tools.filters import stated_filters
from stackroom.tools.listing import EVERY
from stackroom.tools.reading import ReadQuestion


def understood_of(reading: ReadQuestion, params: SearchParams, spec: CatalogueSpec) -> Understood:
    """Return a question as it was read, with all filters and exclusions."""
    filters, exclude = stated_filters(reading.conditions, spec)
    return Understood(
        query="" if reading.query == EVERY else reading.query,
        filters={**(params.filters or {}), **filters},
        exclude=_united(params.exclude or {}, exclude),
        phrases=[UnderstoodPhrase(phrase=one.phrase, text=one.text, field=one.field) for one in reading.phrases],
    )


def with_conditions(params: SearchParams, understood: Understood) -> SearchParams:
    """Return a call with the conditions of its query as filters."""
    read = {"query": understood.query or EVERY, "filters": understood.filters, "exclude": understood.exclude}
    return params.model_copy(update=read)


def _united(given: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    listed = {name: list(values) if isinstance(values, list | tuple) else [values] for name, values in given.items()}
    return {name: list(dict.fromkeys((*listed.get(name, ()), *stated.get(name, ())))) for name in {**listed, **stated}}
