"""The judoka tools. Names, parameters, defaults, limits and fields are a fixed interface.

`query_rag` searches passages, techniques and cards; the `judokon.*` tools know cards only. Cards that the file marks
hidden are found and looked up like others; they are not drawn at random and not suggested as opponents.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from stackroom.api import (
    AnyOf,
    ByCatalogue,
    CatalogueScopes,
    CatalogueView,
    FoundRecord,
    LayoutCatalogues,
    MergedHit,
    NotFoundError,
    OpenCatalogue,
    Principal,
    Ranked,
    Record,
    RecordId,
    ResourceSpec,
    Scope,
    ScopeRequest,
    SearchPath,
    ShelfReader,
    ShownHits,
    ToolSpec,
    catalogue_tool,
    depth_for,
    like_words,
    merge_facets,
    parse_exclusions,
    plain_reading,
    reach_of,
    require_excludable,
    scope_each,
    search_scopes,
    shape_why,
    usual_path,
    word_notes,
)
from stackroom_catalogues.judoka.files import PREFIX, JudokonFiles, source_of, text_of
from stackroom_catalogues.judoka.rows import CARD, STATS, card_of, check_code, code_key, shown_id, stats_of
from stackroom_catalogues.judoka.shapes import (
    CARDS,
    SHOWN,
    CardFilters,
    CardResult,
    CodeParams,
    CodeResult,
    CompareParams,
    CompareResult,
    CountriesParams,
    CountriesResult,
    CountryCount,
    IdParams,
    JudokaHit,
    JudokaShape,
    Opponent,
    OpponentParams,
    OpponentResult,
    RagHit,
    RagParams,
    RagResult,
    RandomParams,
    ResolveParams,
    SearchJudokaParams,
    SearchJudokaResult,
    Side,
    StatShape,
    argument_of,
)
from stackroom_catalogues.judoka.synonyms import rank_expanded

RAG_RESULTS = 5
ALIKE = 3
LIKE = 0.6
SET_UP = "run: stackroom rag prepare, then stackroom add FOLDER --as judoka"


class JudokonTools:
    """The nine tools over every judoka catalogue; `chance` draws cards."""

    def __init__(self, catalogues: LayoutCatalogues, chance: random.Random) -> None:
        self._catalogues = catalogues
        self._chance = chance

    def query_rag(self, principal: Principal, params: RagParams, *, catalogue: str | None = None) -> RagResult:
        """Find passages, techniques and cards that answer a query."""
        views, scope = self._catalogues.views(catalogue), Scope(visibility=principal.visibility)
        if not any(view.reader.count(scope) for view in views.found.values()):
            raise NotFoundError(f"the catalogue '{' and '.join(views.found)}' is empty; {SET_UP}")
        end = params.start + RAG_RESULTS
        scopes, depth = dict.fromkeys(views.found, scope), depth_for(params.start, RAG_RESULTS)
        page = search_scopes(
            views,
            scopes,
            params.query,
            limit=depth,
            explain=params.explain,
            rank=rank_expanded,
            readings=dict.fromkeys(views.found, plain_reading(params.query, scope)),
        )
        if page.degraded and not page.items:
            raise NotFoundError(f"no result by words, and vectors were not used: {_hint(page.degraded)}")
        return RagResult(
            results=[self._rag_hit(item) for item in page.page(params.start, RAG_RESULTS)],
            evidence=page.evidence,
            mode=page.mode,
            notes=word_notes(page.pages),
            hint=_hint(page.degraded),
            unread=page.unread,
            cursor=page.cursor_after(end),
        )

    def rag_path(self, principal: Principal, params: RagParams, name: str, _kind: str) -> SearchPath:
        """Return how `query_rag` searches one catalogue."""
        view, scope = self._catalogues.view(name), Scope(visibility=principal.visibility)
        limit = reach_of(params, RAG_RESULTS)
        return usual_path(
            view, params.query, scope=scope, limit=limit, page=RAG_RESULTS, rank=rank_expanded, is_read=False
        )

    def search_path(self, principal: Principal, params: SearchJudokaParams, name: str, _kind: str) -> SearchPath:
        """Return how `judokon.search` searches one catalogue."""
        scoped = _scoped(self._catalogues.views(name), principal, params.filters, params.exclude)
        view, scope = scoped.views.found[name], scoped.scopes[name]
        path = usual_path(
            view,
            params.query,
            scope=scope,
            limit=reach_of(params, params.top_k),
            page=params.top_k,
            notes=scoped.notes,
            rank=rank_expanded,
        )
        return path if params.filters is None else _shown_whole(path)

    def search(
        self, principal: Principal, params: SearchJudokaParams, *, catalogue: str | None = None
    ) -> SearchJudokaResult:
        """Find cards by a description."""
        scoped = _scoped(self._catalogues.views(catalogue), principal, params.filters, params.exclude)
        start, end = params.start, params.start + params.top_k
        page = search_scopes(
            scoped.views,
            scoped.scopes,
            params.query,
            limit=depth_for(start, params.top_k),
            explain=params.explain,
            rank=rank_expanded,
        )
        is_list = params.filters is not None  # filters ask for all that meet them
        shown = page.page(start, params.top_k, is_list=is_list)
        hints = [] if shown or start else ["no judoka meets this; judokon.listCountries lists the countries there are"]
        return SearchJudokaResult(
            results=[self._hit(item) for item in shown],
            evidence=page.evidence,
            mode=page.mode,
            hint=_hint(page.degraded),
            unread=page.unread,
            notes=[*page.notes, *scoped.notes, *word_notes(page.pages), *hints],
            cursor=page.cursor_after(end, is_list=is_list),
        )

    def get_by_id(self, principal: Principal, params: IdParams, *, catalogue: str | None = None) -> CardResult:
        """Return one card."""
        return self._card(self._get_card(self._catalogues.views(catalogue), principal, params.id))

    def draw(self, principal: Principal, params: RandomParams, *, catalogue: str | None = None) -> CardResult:
        """Draw a card that is not hidden."""
        scoped = _scoped(self._catalogues.views(catalogue), principal, params.filters)
        views, scopes = scoped.views.found, scoped.scopes
        cards = [
            (record_id, name)
            for name, view in views.items()
            for record_id in _ids(view.reader, scopes[name].narrowed(SHOWN))
        ]
        if not cards:
            raise NotFoundError("no judoka meets these filters; judokon.listCountries lists the countries")
        record_id, name = self._chance.choice(cards)
        chosen = ByCatalogue(found={name: views[name]}, skipped=[])
        return self._card(self._get_card(chosen, principal, record_id))

    def resolve_code(self, principal: Principal, params: ResolveParams, *, catalogue: str | None = None) -> CardResult:
        """Return the card that has a code."""
        found = self._find_by_code(principal, params.code, catalogue)
        if found is None:
            reason = check_code(params.code).problem
            raise NotFoundError(
                f"no judoka has the code '{params.code[:200]}'{f': {reason}' if reason else ''}; try judokon.search"
            )
        return self._card(found)

    def validate_code(self, principal: Principal, params: CodeParams, *, catalogue: str | None = None) -> CodeResult:
        """Say whether a code is well-formed, whether its check letter is right, and whether a card has it."""
        form, found = check_code(params.code), self._find_by_code(principal, params.code, catalogue)
        is_known = found is not None
        return CodeResult(
            valid=is_known,
            format=form.is_well_formed,
            checksum=form.has_right_check,
            known=is_known,
            id=shown_id(found.record) if found else None,
            reason=None if is_known else form.problem or "well-formed, but no card here has it",
            catalogue=self._catalogues.label(found.view.name) if found else None,
        )

    def compare(self, principal: Principal, params: CompareParams, *, catalogue: str | None = None) -> CompareResult:
        """Set two cards side by side."""
        views = self._catalogues.views(catalogue)
        one, other = self._get_card(views, principal, params.id_a), self._get_card(views, principal, params.id_b)
        here, there = stats_of(one.record), stats_of(other.record)
        rows = {stat: _compared(here.get(stat, 0), there.get(stat, 0)) for stat in STATS}
        won, lost = (sum(row.winner == side for row in rows.values()) for side in ("a", "b"))
        return CompareResult(
            a=JudokaShape(**self._shape(one)),
            b=JudokaShape(**self._shape(other)),
            stats=rows,
            totals={"a": sum(here.values()), "b": sum(there.values())},
            winner=_compared(won, lost).winner,
        )

    def suggest_opponent(
        self, principal: Principal, params: OpponentParams, *, catalogue: str | None = None
    ) -> OpponentResult:
        """Suggest fair matches: of the same gender first, then of the same weight class, then nearest in average."""
        view, card = self._get_card(self._catalogues.views(catalogue), principal, params.id)
        others = [one for one in _cards(view, principal, SHOWN) if one.id != card.id]
        others.sort(key=lambda one: _mismatch(card, one))
        end = params.start + params.top_k
        return OpponentResult(
            opponents=[
                Opponent(**self._shape(FoundRecord(view, other)), reasons=_reasons(card, other))
                for other in others[params.start : end]
            ],
            cursor=str(end) if end < len(others) else None,
        )

    def list_countries(
        self, principal: Principal, params: CountriesParams, *, catalogue: str | None = None
    ) -> CountriesResult:
        """Count the cards of each country."""
        readers = [view.reader for view in self._catalogues.views(catalogue).found.values()]
        scope = _scope(principal)
        facets = merge_facets([reader.facets("country", scope=scope) for reader in readers])
        rows = [
            CountryCount(country=facet.value, code=_country_code(readers, facet.value, scope), count=facet.count)
            for facet in facets
        ]
        return CountriesResult(countries=rows[params.start :])

    def _get_card(self, views: ByCatalogue[CatalogueView], principal: Principal, stated: str) -> FoundRecord:
        scope = _scope(principal)
        found = self._catalogues.find_one(views, stated, lambda view, plain: _find_card(view, plain, scope))
        if found is None or found.record.kind != CARD:
            alike = [one for view in views.found.values() for one in _alike(view.reader, stated, scope)][:ALIKE]
            hint = f"; alike: {', '.join(alike)}" if alike else "; judokon.search finds ids"
            raise NotFoundError(f"no judoka '{stated[:200]}'{hint}")
        return found

    def _find_by_code(self, principal: Principal, code: str, catalogue: str | None) -> FoundRecord | None:
        """Return the card with a code; the first by id where several of a catalogue have it."""
        condition = AnyOf("codeKey", (code_key(code),))
        if not all(condition.values):
            return None
        return self._catalogues.find_one(
            self._catalogues.views(catalogue),
            code,
            lambda view, _code: min(_cards(view, principal, condition), key=lambda one: one.id, default=None),
        )

    def _card(self, found: FoundRecord) -> CardResult:
        label = self._catalogues.label(found.view.name)
        named: dict[str, Any] = {"catalogue": label} if label else {}
        return CardResult(**card_of(found.record), **named)

    def _hit(self, item: MergedHit) -> JudokaHit:
        found = FoundRecord(item.view, item.hit.record)
        score, why = round(item.hit.score, 4), shape_why(item.hit.why)
        return JudokaHit(**self._shape(found), score=score, relevance=item.hit.label, why=why)

    def _shape(self, found: FoundRecord) -> dict[str, Any]:
        return {**_shape(found.record), "catalogue": self._catalogues.label(found.view.name)}

    def _rag_hit(self, item: MergedHit) -> RagHit:
        record = item.hit.record
        return RagHit(
            id=shown_id(record),
            text=text_of(record),
            source=source_of(record),
            score=round(item.hit.score, 4),
            relevance=item.hit.label,
            qa_context=record.get("qaContext"),
            tags=list(record.get("tags") or (record.kind,)),
            catalogue=self._catalogues.label(item.view.name),
            why=shape_why(item.hit.why),
        )


def _shown_whole(path: SearchPath) -> SearchPath:
    """Return the same path, showing all hits even where nothing answers: filters ask for a list."""

    def show(ranked: Ranked) -> ShownHits:
        page = ranked.page(path.limit)
        return ShownHits(keys=[hit.key for hit in page.hits], evidence=page.evidence)

    return replace(path, show=show)


def _find_card(view: CatalogueView, stated: str, scope: Scope) -> Record | None:
    """Return the card of an id, or else of a name that only one judoka has."""
    named = view.resolve(stated, scope=scope)
    return view.find_stated(stated, scope=scope) or (named.record if named.is_certain else None)


def _alike(reader: ShelfReader, stated: str, scope: Scope) -> list[str]:
    """Return the cards that have an id or a name like the one asked for."""
    names = [match for match in reader.titles_like(stated, scope=scope, limit=ALIKE) if match.likeness >= LIKE]
    named = reader.ids([match.key for match in names])
    alike = list(dict.fromkeys([*like_words(stated, _ids(reader, scope))[:ALIKE], *named]))[:ALIKE]
    found = reader.fetch(list(reader.find([RecordId(one) for one in alike], scope=scope).values()), scope=scope)
    return [f"{one.id} ({one.get('name')})" for one in found.values()]


def _ids(reader: ShelfReader, scope: Scope) -> list[RecordId]:
    return reader.ids(reader.scan(scope=scope, limit=reader.count(scope)))


def _cards(view: CatalogueView, principal: Principal, condition: AnyOf) -> list[Record]:
    reader, scope = view.reader, _scope(principal).narrowed(condition)
    return list(reader.fetch(reader.scan(scope=scope, limit=reader.count(scope)), scope=scope).values())


def _country_code(readers: Sequence[ShelfReader], country: str, scope: Scope) -> str | None:
    """Return the code that the first card of a country has."""
    for reader in readers:
        first = reader.scan(scope=scope.narrowed(AnyOf("country", (country,))), limit=1)
        for record in reader.fetch(first, scope=scope).values():
            return cast(str | None, record.get("countryCode"))
    return None


def tools(catalogues: Sequence[OpenCatalogue]) -> list[ToolSpec]:
    """Declare the judoka tools over every judoka catalogue that is served."""
    layout = LayoutCatalogues(catalogues)
    judokon = JudokonTools(layout, random.SystemRandom())
    every = [
        catalogue_tool(
            name="query_rag",
            description="Search the judo card game JU-DO-KON!: documentation, code patterns, techniques, cards.",
            params=RagParams,
            result=RagResult,
            run=judokon.query_rag,
            searches=judokon.rag_path,
            count_of=lambda result: len(result.results),
        ),
        catalogue_tool(
            name="judokon.search",
            description="Search judoka cards of the game JU-DO-KON! by description.",
            params=SearchJudokaParams,
            result=SearchJudokaResult,
            run=judokon.search,
            searches=judokon.search_path,
            count_of=lambda result: len(result.results),
        ),
        catalogue_tool(
            name="judokon.getById",
            description="Get one judoka card, with all stats.",
            params=IdParams,
            result=CardResult,
            run=judokon.get_by_id,
        ),
        catalogue_tool(
            name="judokon.random",
            cacheable=False,
            description="Draw a random judoka card.",
            params=RandomParams,
            result=CardResult,
            run=judokon.draw,
        ),
        catalogue_tool(
            name="judokon.resolveCode",
            description="Find the judoka card of a card code.",
            params=ResolveParams,
            result=CardResult,
            run=judokon.resolve_code,
        ),
        catalogue_tool(
            name="judokon.validateCardCode",
            description="Check the form of a card code, and whether a card has it.",
            params=CodeParams,
            result=CodeResult,
            run=judokon.validate_code,
        ),
        catalogue_tool(
            name="judokon.compare",
            description="Compare two judoka, stat by stat.",
            params=CompareParams,
            result=CompareResult,
            run=judokon.compare,
        ),
        catalogue_tool(
            name="judokon.suggestOpponent",
            description="Suggest fair opponents for a judoka.",
            params=OpponentParams,
            result=OpponentResult,
            run=judokon.suggest_opponent,
        ),
        catalogue_tool(
            name="judokon.listCountries",
            description="List the countries of judoka, with card counts.",
            params=CountriesParams,
            result=CountriesResult,
            run=judokon.list_countries,
        ),
    ]
    return layout.declare(every)


def resources(catalogues: Sequence[OpenCatalogue]) -> list[ResourceSpec]:
    """Declare the files of the catalogue named like its layout, or the first; of several, also those of each."""
    main = next((catalogue for catalogue in catalogues if catalogue.name == catalogue.spec.name), catalogues[0])
    files = [JudokonFiles(main, PREFIX)]
    if len(catalogues) > 1:
        files += [JudokonFiles(catalogue, f"{PREFIX}{catalogue.name}/") for catalogue in catalogues]
    return [file.declare() for file in files]


def _scope(principal: Principal) -> Scope:
    return Scope(conditions=(CARDS,), visibility=principal.visibility)


def _scoped(
    views: ByCatalogue[CatalogueView],
    principal: Principal,
    filters: CardFilters | None,
    exclude: Mapping[str, Any] | None = None,
) -> CatalogueScopes:
    """Return the scope of the cards that meet the filters, in each catalogue, with values by any spelling."""
    require_excludable(exclude or {}, [view.spec for view in views.found.values()])
    conditions = (filters or CardFilters()).conditions()
    asked = ScopeRequest(
        query="",
        visibility=principal.visibility,
        conditions=lambda spec: [*conditions, *parse_exclusions(exclude or {}, spec)],
        label=argument_of,
    )
    scoped = scope_each(views, asked)
    return replace(scoped, scopes={name: scope.narrowed(CARDS) for name, scope in scoped.scopes.items()})


def _hint(degraded: str | None) -> str | None:
    if degraded is None:
        return None
    return degraded if "run: " in degraded else f"{degraded}; {SET_UP}"


def _shape(record: Record) -> dict[str, Any]:
    return {
        "id": shown_id(record),
        "name": record.get("name"),
        "country": record.get("country"),
        "rarity": record.get("rarity"),
        "weight_class": record.get("weightClass"),
        "stats": stats_of(record),
    }


def _compared(here: int, there: int) -> StatShape:
    winner: Side = "draw" if here == there else "a" if here > there else "b"
    return StatShape(a=here, b=there, winner=winner)


def _mismatch(card: Record, other: Record) -> tuple[bool, bool, float, float, str]:
    """Return a sort key: how unfair a match would be."""
    return (
        card.get("gender") != other.get("gender"),
        card.get("weightClass") != other.get("weightClass"),
        abs((card.get("average") or 0) - (other.get("average") or 0)),
        abs((card.get("weight") or 0) - (other.get("weight") or 0)),
        other.id,
    )


def _reasons(card: Record, other: Record) -> list[str]:
    is_same_gender, is_same_class = (card.get(key) == other.get(key) for key in ("gender", "weightClass"))
    gap = (other.get("average") or 0) - (card.get("average") or 0)
    return [
        f"{'same' if is_same_gender else 'other'} gender",
        f"{'same weight class' if is_same_class else 'weight class'} {other.get('weightClass') or 'unknown'}",
        "equal average" if not gap else f"average {abs(gap):.1f} {'higher' if gap > 0 else 'lower'}",
    ]
