"""Recommendations for liked and disliked records and a sentence, with the signals that they are made of.

Every catalogue with vectors can be asked. Records are compared with those of the kinds that are liked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError
from pinakes.model.principal import Principal
from pinakes.model.scope import KIND_FIELD, AnyOf, NoneOf, Scope
from pinakes.recommend.recommender import Recommendation, Recommendations, Request, require_recommend
from pinakes.recommend.weights import SignalWeight, signal_values, signal_weights, taste_spec
from pinakes.search.names import NameChoice, choice_of
from pinakes.tools.catalogue import CatalogueView, OpenCatalogue
from pinakes.tools.media import CallerMedia
from pinakes.tools.page.hits import label_of, shape_hit, with_signals
from pinakes.tools.resources.records import address_of
from pinakes.tools.spec import AskedTaste, ToolSpec

LABELS = {
    "semantic": "Meaning",
    "taxonomy": "Same {fields}",
    "format": "Same {fields}",
    "temporal": "Same {fields}",
    "popularity": "Popularity",
    "known": "How much is known",
    "wish": "Your sentence and dislikes",
}

BY_MEANING = "by its meaning"


@dataclass(frozen=True, slots=True, kw_only=True)
class TasteQuestion:
    """Ids of liked and disliked records, a sentence, the weights of signals by name, and how many are wanted."""

    likes: Sequence[str] = ()
    dislikes: Sequence[str] = ()
    preferences: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    limit: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tray:
    """The records of a question that exist and may be seen, and the ids of the others."""

    likes: tuple[NameChoice, ...]
    dislikes: tuple[NameChoice, ...]
    unknown: tuple[str, ...]


def recommend_by_taste(
    catalogue: OpenCatalogue,
    tools: Iterable[ToolSpec],
    principal: Principal,
    media: CallerMedia,
    question: TasteQuestion,
) -> dict[str, Any]:
    """Return what suits a taste, best first, and how the taste was understood."""
    view, spec = catalogue.view(), taste_spec(catalogue.spec, question.weights)
    seen = Scope(visibility=principal.visibility)
    tray = _found_tray(view, question, seen)
    _require_taste(tray, question)
    request = Request(titles=(), preferences=question.preferences, limit=question.limit, may_describe=True)
    answer = replace(catalogue.recommender, spec=spec).recommend_for(
        view.reader, tray.likes, request, scope=_of_liked_kinds(seen, tray, spec), disliked=tray.dislikes
    )
    ordered = sorted(answer.items, key=lambda item: (-_score(item, spec), item.record.id))
    return {
        "hits": [_shaped(catalogue, item, spec, media) for item in ordered],
        "likes": _tray_hits(catalogue, tray.likes, media),
        "dislikes": _tray_hits(catalogue, tray.dislikes, media),
        **_understood(answer, is_described=not tray.likes),
        "notes": [*answer.notes, *(f"'{one[:80]}' is not in the catalogue any more" for one in tray.unknown)],
        "taste": list(answer.taste_tags),
        "signals": [_signal(one) for one in signal_weights(spec)],
        "call": _call(catalogue, tools, tray, question),
    }


def _found_tray(view: CatalogueView, question: TasteQuestion, scope: Scope) -> _Tray:
    likes = {one: _find(view, one, scope) for one in question.likes}
    dislikes = {one: _find(view, one, scope) for one in question.dislikes}
    liked, disliked = ({one.key: one for one in some.values() if one} for some in (likes, dislikes))
    if (both := next((one for key, one in disliked.items() if key in liked), None)) is not None:
        raise InputError(f"'dislikes': '{both.title}' is among the 'likes' too; leave it out of one of them")
    return _Tray(
        likes=tuple(liked.values()),
        dislikes=tuple(disliked.values()),
        unknown=tuple(stated for stated, one in {**likes, **dislikes}.items() if one is None),
    )


def _find(view: CatalogueView, stated: str, scope: Scope) -> NameChoice | None:
    record = view.find_stated(stated, scope=scope)
    key = view.reader.find([record.id], scope=scope).get(record.id) if record else None
    return None if record is None or key is None else choice_of(view.spec, stated, key, record)


def _require_taste(tray: _Tray, question: TasteQuestion) -> None:
    if tray.likes or question.preferences.strip():
        return
    if question.likes:
        raise InputError(f"'likes': none of these is in the catalogue: {', '.join(question.likes)[:200]}")
    raise InputError("'likes' and 'preferences' are empty; like a record, or say in a sentence what you want")


def _of_liked_kinds(scope: Scope, tray: _Tray, spec: CatalogueSpec) -> Scope:
    """Return the scope of what is recommended: records of the liked kinds, else of those that a search finds."""
    kinds = dict.fromkeys(one.record.kind for one in tray.likes if one.record)
    if len(spec.kinds) == 1:
        return scope
    if kinds:
        return scope.narrowed(AnyOf(KIND_FIELD, tuple(kinds)))
    return scope.narrowed(NoneOf(KIND_FIELD, spec.kinds_hidden_from_search)) if spec.kinds_hidden_from_search else scope


def _score(item: Recommendation, spec: CatalogueSpec) -> float:
    """Return the score that a record was chosen by: all signals, with their weights."""
    return sum(item.signals.why(require_recommend(spec)).order.values())


def _shaped(catalogue: OpenCatalogue, item: Recommendation, spec: CatalogueSpec, media: CallerMedia) -> dict[str, Any]:
    hit = {**shape_hit(catalogue, item.record, media), "score": round(_score(item, spec), 4)}
    return with_signals(hit, signal_values(item.signals, spec))


def _tray_hits(catalogue: OpenCatalogue, choices: Iterable[NameChoice], media: CallerMedia) -> list[dict[str, Any]]:
    """Return the records of the tray that exist, so that a shared address shows them by name."""
    return [shape_hit(catalogue, one.record, media) for one in choices if one.record]


def _signal(one: SignalWeight) -> dict[str, Any]:
    label = LABELS[one.name].format(fields=" and ".join(label_of(name).lower() for name in one.fields))
    return {"name": one.name, "label": label, "weight": one.weight}


def _understood(answer: Recommendations, *, is_described: bool) -> dict[str, Any]:
    """Return how the sentence was taken; one that describes what is wanted has other words by their meaning."""
    preferences = answer.preferences
    unknown = [f"no title like '{one.asked}'" for one in (*answer.titles, *answer.excluded) if not one.title]
    by_meaning = preferences.not_understood if is_described else ()
    return {
        "understood": [
            *({"phrase": one.text, "text": one.meaning} for one in preferences.understood),
            *({"phrase": one, "text": BY_MEANING} for one in by_meaning),
        ],
        "not_understood": [*(() if is_described else preferences.not_understood), *unknown],
    }


def _call(catalogue: OpenCatalogue, tools: Iterable[ToolSpec], tray: _Tray, question: TasteQuestion) -> dict[str, Any]:
    """Return the call by which an assistant asks for much the same: the catalogue's own tool, or a generic one."""
    asked = AskedTaste(
        likes=tuple(one.title for one in tray.likes),
        dislikes=tuple(one.title for one in tray.dislikes),
        preferences=question.preferences.strip(),
        limit=question.limit,
    )
    for tool in tools:
        if tool.recommends and asked.likes and _reads(tool, catalogue.name):
            named = {"catalogue": catalogue.name} if "catalogue" in tool.params.model_fields else {}
            return {"name": tool.name, "arguments": {**tool.recommends(asked), **named}}
    if not tray.likes:
        arguments = {"query": asked.preferences, "catalogue": catalogue.name, "limit": asked.limit}
        return {"name": "search", "arguments": arguments}
    newest = tray.likes[-1].record
    address = address_of(catalogue.name, newest.id) if newest else ""
    return {"name": "similar", "arguments": {"id": address, "limit": asked.limit}}


def _reads(tool: ToolSpec, name: str) -> bool:
    """Tell whether a tool reads a catalogue: one of those that a call may choose, or of the only ones it is over."""
    if "catalogue" in tool.params.model_fields:
        return name in tool.properties.get("catalogue", {}).get("enum", ())
    return tool.reads is not None and name in tool.reads(None)
