"""The answers of the judoka tools as text, with everything that their structured content has."""

from collections.abc import Mapping
from typing import Any

from pinakes.api import Explained, fields_text, json_text, shown_id, why_lines
from pinakes_catalogues.judoka.shapes import (
    CardResult,
    CodeResult,
    CompareResult,
    CountriesResult,
    JudokaHit,
    JudokaShape,
    OpponentResult,
    RagHit,
    RagResult,
    SearchResult,
)


def rag_text(result: RagResult) -> str:
    """Return the text of `query_rag`: passages whole, each after a line with its source."""
    parts = [_passage(number, hit) for number, hit in enumerate(result.results, start=1)]
    return result.with_evidence("\n\n".join([*(parts or ["nothing found"]), "\n".join(_remarks(result))]))


def search_text(result: SearchResult) -> str:
    """Return the text of `judokon.search`."""
    lines = [f"{number}. {_hit_line(hit)}" for number, hit in enumerate(result.results, start=1)]
    if not lines:
        lines = ["no judoka meets this; judokon.listCountries lists the countries there are"]
        return "\n".join([*lines, *_remarks(result)])
    return result.with_evidence("\n".join([*lines, *_remarks(result)]))


def card_text(card: CardResult) -> str:
    """Return a card as the JSON that it is."""
    return json_text(card.model_dump(mode="json", by_alias=True))


def code_text(result: CodeResult) -> str:
    """Return the text of `judokon.validateCardCode`."""
    said = f"valid: the code of judoka {result.id}" if result.valid else f"not valid: {result.reason}"
    checks = {"format": result.format, "checksum": result.checksum, "known": result.known}
    catalogue = {"catalogue": result.catalogue} if result.catalogue else {}
    return f"{said} ({fields_text({**checks, **catalogue})})"


def compare_text(result: CompareResult) -> str:
    """Return the text of `judokon.compare`."""
    rows = [f"{stat}: {row.a} – {row.b} (winner: {row.winner})" for stat, row in result.stats.items()]
    totals = f"total: {result.totals['a']} – {result.totals['b']}; winner: {result.winner}"
    return "\n".join([f"a: {_line(result.a)}", f"b: {_line(result.b)}", *rows, totals])


def opponent_text(result: OpponentResult) -> str:
    """Return the text of `judokon.suggestOpponent`."""
    lines = [f"{n}. {_line(one)}: {', '.join(one.reasons)}" for n, one in enumerate(result.opponents, start=1)]
    return "\n".join([*(lines or ["there is no other judoka"]), *_more(result.cursor), *result.notes])


def countries_text(result: CountriesResult) -> str:
    """Return the text of `judokon.listCountries`."""
    names = [f"{one.country}{f' [{one.code}]' if one.code else ''} ({one.count})" for one in result.countries]
    return "\n".join([", ".join(names) or "no cards", *_more(result.cursor), *result.notes])


def _passage(number: int, hit: RagHit) -> str:
    told: Mapping[str, Any] = {"score": hit.score, "relevance": hit.relevance, "answers": hit.qa_context}
    known = {name: value for name, value in {**told, "tags": hit.tags}.items() if value not in (None, [])}
    return f"{number}. {hit.source} [{shown_id(hit.id, hit.catalogue)}] ({fields_text(known)})\n{hit.text}{_why(hit)}"


def _hit_line(hit: JudokaHit) -> str:
    relevance = f"; relevance: {hit.relevance}" if hit.relevance else ""
    return f"{_line(hit)}; score: {hit.score}{relevance}{_why(hit)}"


def _why(hit: Explained) -> str:
    return "".join(f"\n   {line}" for line in why_lines(hit.why))


def _line(judoka: JudokaShape) -> str:
    values = {"country": judoka.country, "rarity": judoka.rarity, "weight class": judoka.weight_class}
    known = fields_text({name: value for name, value in values.items() if value is not None})
    numbers = " ".join(f"{stat} {number}" for stat, number in judoka.stats.items())
    return f"{judoka.name} ({known}) {numbers} [{shown_id(judoka.id, judoka.catalogue)}]"


def _remarks(result: RagResult | SearchResult) -> list[str]:
    hint = [f"hint: {result.hint}"] if result.hint else []
    return [f"evidence: {result.evidence}", *_more(result.cursor), *hint, *result.notes]


def _more(cursor: str | None) -> list[str]:
    return [f"more with cursor '{cursor}'"] if cursor else []
