"""`recommend`: records for liked and disliked ones and a sentence, with the signals that they are chosen by.

Every catalogue with vectors can be asked. Records are compared with those of the kinds that are liked. It is for pages
and programs; assistants are given the tools of packages, and `similar`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.catalogue.telling import label_of
from stackroom.errors import InputError
from stackroom.generic.record import RankedRecord, RecordForm, shape_records
from stackroom.generic.shapes import DrawnParams, ShownRecord, StatedId
from stackroom.model.principal import Principal
from stackroom.model.scope import KIND_FIELD, AnyOf, NoneOf, Scope
from stackroom.recommend.recommender import Recommendation, Recommendations, Request, require_recommend
from stackroom.recommend.weights import SignalWeight, signal_values, signal_weights, taste_spec
from stackroom.search.names import NameChoice, choice_of
from stackroom.tools.catalogue import CatalogueView, OpenCatalogue, address_of
from stackroom.tools.spec import AskedTaste, GenericResult, NotedResult, ToolSpec

MOST_IN_TRAY = 50
Ids = Annotated[list[StatedId], Field(max_length=MOST_IN_TRAY)]

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


class RecommendParams(DrawnParams):
    """Ids of liked and disliked records, a sentence such as "after 2015, not horror", and the weights of signals."""

    catalogue: str = Field(max_length=200, description="Where to look")
    likes: Ids = Field(default_factory=list, description="Ids of records")
    dislikes: Ids = Field(default_factory=list, description="Ids of records")
    preferences: str = Field(default="", max_length=2_000, description="As in: after 2015, darker, not horror")
    weights: dict[str, float] = Field(
        default_factory=dict, max_length=20, description="Signal → its weight, 0 to 1; the others are as declared"
    )
    limit: int = Field(default=12, ge=1, le=48, description="Most results")


class UnderstoodWish(GenericResult):
    """Words of the sentence, and what they were taken to mean."""

    phrase: str
    text: str


class Signal(GenericResult):
    """A signal that speaks for records, and how much it counts."""

    name: str
    label: str
    weight: float


class ToolCall(GenericResult):
    """The call by which an assistant asks for much the same."""

    name: str
    arguments: dict[str, Any]


class RecommendResult(NotedResult, GenericResult):
    """Recommendations for a taste, best first, and how the taste was understood."""

    results: list[ShownRecord]
    likes: list[ShownRecord]
    dislikes: list[ShownRecord]
    understood: list[UnderstoodWish]
    not_understood: list[str]
    taste: list[str]
    signals: list[Signal]
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tray:
    """The records of a call that exist and may be seen, and the ids of the others."""

    likes: tuple[NameChoice, ...]
    dislikes: tuple[NameChoice, ...]
    unknown: tuple[str, ...]


def recommend_by_taste(
    catalogue: OpenCatalogue,
    tools: Iterable[ToolSpec],
    principal: Principal,
    params: RecommendParams,
    form: RecordForm,
) -> RecommendResult:
    """Return what suits a taste; `tools` are those of packages, of which one may recommend."""
    view, spec = catalogue.view(), taste_spec(catalogue.spec, params.weights)
    seen = Scope(visibility=principal.visibility)
    tray = _find_tray(view, params, seen)
    _require_taste(tray, params)
    request = Request(titles=(), preferences=params.preferences, limit=params.limit, may_describe=True)
    answer = replace(catalogue.recommender, spec=spec).recommend_for(
        view.reader, tray.likes, request, scope=_of_liked_kinds(seen, tray, spec), disliked=tray.dislikes
    )
    ordered = sorted(answer.items, key=lambda item: (-_score(item, spec), item.record.id))
    return RecommendResult(
        results=_shaped(view, ordered, spec, form),
        likes=_tray_records(view, tray.likes, form),
        dislikes=_tray_records(view, tray.dislikes, form),
        **_understood(answer, is_described=not tray.likes),
        notes=[*answer.notes, *(f"'{stated[:80]}' is not in the catalogue any more" for stated in tray.unknown)],
        taste=list(answer.taste_tags),
        signals=[_signal(weight) for weight in signal_weights(spec)],
        call=_call(catalogue, tools, tray, params),
    )


def _find_tray(view: CatalogueView, params: RecommendParams, scope: Scope) -> _Tray:
    likes = {like: _find(view, like, scope) for like in params.likes}
    dislikes = {dislike: _find(view, dislike, scope) for dislike in params.dislikes}
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


def _require_taste(tray: _Tray, params: RecommendParams) -> None:
    if tray.likes or params.preferences.strip():
        return
    if params.likes:
        raise InputError(f"'likes': none of these is in the catalogue: {', '.join(params.likes)[:200]}")
    raise InputError("'likes' and 'preferences' are empty; like a record, or say in a sentence what you want")


def _of_liked_kinds(scope: Scope, tray: _Tray, spec: CatalogueSpec) -> Scope:
    """Return the scope of what is recommended: records of the liked kinds, else of those that a search finds."""
    kinds = dict.fromkeys(like.record.kind for like in tray.likes if like.record)
    if len(spec.kinds) == 1:
        return scope
    if kinds:
        return scope.narrowed(AnyOf(KIND_FIELD, tuple(kinds)))
    return scope.narrowed(NoneOf(KIND_FIELD, spec.kinds_hidden_from_search)) if spec.kinds_hidden_from_search else scope


def _score(item: Recommendation, spec: CatalogueSpec) -> float:
    """Return the score that a record was chosen by: all signals, with their weights."""
    return item.signals.choice(require_recommend(spec))


def _shaped(
    view: CatalogueView, items: Sequence[Recommendation], spec: CatalogueSpec, form: RecordForm
) -> list[ShownRecord]:
    ranked = [RankedRecord(view=view, record=item.record, score=_score(item, spec)) for item in items]
    signals = [{name: round(value, 4) for name, value in signal_values(item.signals, spec).items()} for item in items]
    shaped = shape_records(ranked, form)
    return [shown.model_copy(update={"signals": some}) for shown, some in zip(shaped, signals, strict=True)]


def _tray_records(view: CatalogueView, choices: Iterable[NameChoice], form: RecordForm) -> list[ShownRecord]:
    """Return the records of the tray that exist, so that a shared address shows them by name."""
    return shape_records([RankedRecord(view=view, record=choice.record) for choice in choices if choice.record], form)


def _signal(weight: SignalWeight) -> Signal:
    label = LABELS[weight.name].format(fields=" and ".join(label_of(name).lower() for name in weight.fields))
    return Signal(name=weight.name, label=label, weight=weight.weight)


def _understood(answer: Recommendations, *, is_described: bool) -> dict[str, Any]:
    """Return how the sentence was taken; one that describes what is wanted has other words by their meaning."""
    preferences = answer.preferences
    unknown = [f"no title like '{one.asked}'" for one in (*answer.titles, *answer.excluded) if not one.title]
    by_meaning = preferences.not_understood if is_described else ()
    return {
        "understood": [
            *(UnderstoodWish(phrase=one.text, text=one.meaning) for one in preferences.understood),
            *(UnderstoodWish(phrase=phrase, text=BY_MEANING) for phrase in by_meaning),
        ],
        "not_understood": [*(() if is_described else preferences.not_understood), *unknown],
    }


def _call(catalogue: OpenCatalogue, tools: Iterable[ToolSpec], tray: _Tray, params: RecommendParams) -> ToolCall:
    """Return the call of the package's own tool, or of a generic one."""
    asked = AskedTaste(
        likes=tuple(choice.title for choice in tray.likes),
        dislikes=tuple(choice.title for choice in tray.dislikes),
        preferences=params.preferences.strip(),
        limit=params.limit,
    )
    for tool in tools:
        if tool.recommends and asked.likes and _reads(tool, catalogue.name):
            named = {"catalogue": catalogue.name} if "catalogue" in tool.params.model_fields else {}
            return ToolCall(name=tool.name, arguments={**tool.recommends(asked), **named})
    if not tray.likes:
        arguments = {"query": asked.preferences, "catalogue": catalogue.name, "limit": asked.limit}
        return ToolCall(name="search", arguments=arguments)
    newest = tray.likes[-1].record
    address = address_of(catalogue.name, newest.id) if newest else ""
    return ToolCall(name="similar", arguments={"id": address, "limit": asked.limit})


def _reads(tool: ToolSpec, name: str) -> bool:
    """Tell whether a tool reads a catalogue: one of those that a call may choose, or of the only ones it is over."""
    if "catalogue" in tool.params.model_fields:
        return name in tool.properties.get("catalogue", {}).get("enum", ())
    return tool.reads is not None and name in tool.reads(None)
