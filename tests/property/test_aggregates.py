"""Counts and figures of `browse` against plain Python: any table, filters, words and visibility.

The reference has no shelf, no column and no numpy: it reads every record and adds up fractions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.catalogue.compiler import compile_text
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import Action, Principal
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import Visibility
from stackroom.shelf.port import Put
from stackroom.tools.toolbox import Toolbox
from support.memory_shelf import MemoryShelf
from support.served import open_shelf
from support.texts import values_missing_from_text

SPEC = compile_text(Path(__file__).with_name("wines.toml").read_text("utf-8"), origin="test")
WORDS = ("plum", "cherry", "smoke", "oak")
COUNTRIES = ("France", "france", "Spain", "New Zealand")
TAGS = ("red", "sweet", "strong")
GRAPES = ("Merlot", "Syrah", "Gamay")
DATES = ("1969-12-31", "1970-01-01", "1999-02-28", "2000-02-29", "2019-12-31", "2020-06-15")
STAFF = "staff"

prices = st.none() | st.integers(-300, 4000).map(lambda cents: cents / 100)
values = st.fixed_dictionaries(
    {
        "notes": st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join),
        "country": st.none() | st.sampled_from(COUNTRIES),
        "tags": st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(
            lambda some: tuple(Tag("", one) for one in some)
        ),
        "grapes": st.lists(st.sampled_from(GRAPES), max_size=2, unique=True).map(tuple),
        "price": prices,
        "points": st.none() | st.integers(80, 100),
        "year": st.none() | st.integers(1985, 2012),
        "bottled": st.none() | st.sampled_from(DATES),
    }
)
rows = st.tuples(
    values, st.sampled_from(("wine", "wine", "wine", "cellar")), st.sampled_from(((), (), (STAFF,)))
)
tables = st.lists(rows, max_size=14)
filters = st.fixed_dictionaries(
    {},
    optional={
        "country": st.lists(st.sampled_from(COUNTRIES), min_size=1, max_size=2),
        "tags": st.lists(st.sampled_from(TAGS), min_size=1, max_size=2),
        "grapes": st.lists(st.sampled_from(GRAPES), min_size=1, max_size=2, unique=True),
        "price": st.sampled_from(({"min": 0.5}, {"max": 20}, {"min": 1, "max": 9.99})),
        "year": st.sampled_from(({"min": 1991}, {"max": 2004}, {"min": 1995, "max": 2001})),
        "bottled": st.sampled_from(({"min": "1970"}, {"min": "1999-02", "max": "2020"})),
        "kind": st.sampled_from((["wine"], ["wine", "cellar"])),
    },
)
bys = st.lists(
    st.sampled_from(
        (
            "country",
            "tags",
            "grapes",
            "kind",
            "price",
            "price/2.5",
            "price/0.1",
            "points/5",
            "points",
        )
    )
    | st.sampled_from(("year", "year/decade", "bottled", "bottled/decade", "bottled/month")),
    max_size=2,
    unique_by=lambda one: one.partition("/")[0],
)


@dataclass(frozen=True)
class Call:
    """The arguments of a `browse`, and who calls."""

    by: Sequence[str]
    of: str | None
    filters: Mapping[str, Any]
    exclude: Mapping[str, Any]
    query: str
    audiences: frozenset[str] | None

    @property
    def principal(self) -> Principal:
        return Principal(
            name="ada",
            actions=frozenset({Action.ACCESS_CATALOG}),
            visibility=Visibility(self.audiences),
        )

    @property
    def arguments(self) -> dict[str, Any]:
        return {
            "by": list(self.by),
            **({"of": self.of} if self.of else {}),
            "filters": dict(self.filters),
            "exclude": dict(self.exclude),
            "query": self.query,
            "limit": 200,
        }


calls = st.builds(
    Call,
    by=bys,
    of=st.none() | st.sampled_from(("price", "points", "bottled")),
    filters=filters,
    exclude=st.fixed_dictionaries(
        {}, optional={"tags": st.just(["sweet"]), "country": st.just(["Spain"])}
    ),
    query=st.sampled_from(("", "", "plum", "cherry smoke", "* oak")),
    audiences=st.sampled_from((None, frozenset(), frozenset({STAFF}))),
)


def table(made: Sequence[tuple[dict[str, Any], str, tuple[str, ...]]]) -> list[Record]:
    return [
        Record(
            id=RecordId(f"r{number:02}"),
            kind=kind,
            fields={
                "title": f"Wine {number}",
                **{name: one for name, one in some.items() if one not in (None, "", ())},
            },
            audiences=audiences,
        )
        for number, (some, kind, audiences) in enumerate(made)
    ]


def gate_over(records: Sequence[Record]) -> Gate:
    shelf = MemoryShelf(SPEC)
    shelf.apply([Put(record=record) for record in records])
    catalogue = open_shelf(shelf)
    return Gate(Toolbox(generic_tools([catalogue]), catalogues=[catalogue]))


# The reference


def texts_in(record: Record, field: str) -> list[str]:
    if field == "kind":
        return [record.kind]
    value = record.get(field) or ()
    return (
        [value]
        if isinstance(value, str)
        else [one.value if isinstance(one, Tag) else one for one in value]
    )


def folded(some: Sequence[str]) -> set[str]:
    return {one.lower() for one in some}


def number_in(record: Record, field: str) -> Fraction | None:
    value = record.get(field)
    if value is None:
        return None
    return (
        Fraction(date.fromisoformat(value).toordinal())
        if field == "bottled"
        else Fraction(Decimal(repr(value)))
    )


def bound_of(field: str, bound: Any, *, is_last: bool) -> Fraction:
    if field != "bottled":
        return Fraction(Decimal(repr(bound)))
    year, _, month = str(bound).partition("-")
    first = date(int(year), int(month or (12 if is_last else 1)), 1)
    after = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    return Fraction(after.toordinal() - 1 if is_last else first.toordinal())


def passes(record: Record, field: str, asked: Any) -> bool:
    if isinstance(asked, dict):
        number = number_in(record, field)
        if number is None:
            return False
        low, high = asked.get("min"), asked.get("max")
        is_above = low is None or number >= bound_of(field, low, is_last=False)
        return is_above and (high is None or number <= bound_of(field, high, is_last=True))
    here, wanted = folded(texts_in(record, field)), folded(asked)
    return wanted <= here if field == "tags" else bool(wanted & here)


def counted(records: Sequence[Record], call: Call) -> list[Record]:
    """Return the records that a call is about."""
    with_adult = "strong" in call.filters.get("tags", ())
    words = call.query.replace("*", "").split()
    return [
        one
        for one in records
        if is_visible(one, call)
        and all(passes(one, field, asked) for field, asked in call.filters.items())
        and not any(
            folded(texts_in(one, field)) & folded(asked) for field, asked in call.exclude.items()
        )
        and ("kind" in call.filters or one.kind == "wine")
        and (with_adult or "strong" not in texts_in(one, "tags"))
        and set(words)
        <= {
            word
            for text in (one.get("title"), one.get("notes") or "")
            for word in str(text).split()
        }
    ]


def names_a_value_that_nobody_has(records: Sequence[Record], call: Call) -> bool:
    """Tell whether a filter has a value that no record has which the caller may see."""
    visible = [one for one in records if is_visible(one, call)]
    asked = [
        (field, one)
        for some in (call.filters, call.exclude)
        for field in some
        for one in some[field]
    ]
    return any(
        field in ("country", "grapes", "tags")
        and not any(passes(one, field, [value]) for one in visible)
        for field, value in asked
    )


def is_visible(record: Record, call: Call) -> bool:
    return (
        call.audiences is None
        or not record.audiences
        or bool(set(record.audiences) & call.audiences)
    )


def parts_of(record: Record, by: str, call: Call) -> list[Any]:
    """Return what a record is grouped under by one field: folded values, or the order of its
    bucket.
    """
    field, _, bucket = by.partition("/")
    if SPEC.fields.get(field) is None or not SPEC.fields[field].is_numeric:
        here = folded(texts_in(record, field))
        asked = call.filters.get(field) if field != "tags" else None
        return sorted(here if asked is None else here & folded(asked))
    number = number_in(record, field)
    if number is None:
        return []
    if field == "bottled":
        day = date.fromordinal(int(number))
        month = (day.year, day.month)
        return [{"decade": day.year // 10, "month": month, "": day.year}[bucket]]
    if by == "price":
        return [number]
    width = {"decade": Fraction(10), "": Fraction(1)}.get(bucket) or Fraction(Decimal(bucket))
    return [number // width]


def grouped(records: Sequence[Record], call: Call) -> dict[tuple[Any, ...], list[Record]]:
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        for parts in product(*(parts_of(record, by, call) for by in call.by)):
            groups.setdefault(parts, []).append(record)
    return groups


def figures(records: Sequence[Record], of: str) -> dict[str, Any]:
    known = sorted(
        (number, record.id) for record in records if (number := number_in(record, of)) is not None
    )
    partly = {"known": len(known)} if len(known) < len(records) else {}
    if not known:
        return partly
    numbers = [number for number, _ in known]
    middle = numbers[(len(numbers) - 1) // 2 : len(numbers) // 2 + 1]
    greatest = min(name for number, name in known if number == numbers[-1])
    found = {"min": numbers[0], "max": numbers[-1], "median": sum(middle) / len(middle)}
    if of == "bottled":
        shown = {name: date.fromordinal(int(day)).isoformat() for name, day in found.items()}
    else:
        more = {"sum": sum(numbers), "mean": sum(numbers) / len(numbers)}
        shown = {name: float(one) for name, one in {**found, **more}.items()}
    return {**partly, **shown, "min_record": known[0][1], "max_record": greatest}


# What an answer says, in the same form


def figures_in(group: Mapping[str, Any]) -> dict[str, Any]:
    names = ("known", "min", "max", "mean", "median", "sum")
    ends = {
        name: group[name]["id"].removeprefix("wines/")
        for name in ("min_record", "max_record")
        if name in group
    }
    return {**{name: group[name] for name in names if name in group}, **ends}


def same(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Tell whether figures are the same; a mean is rounded to six digits, everything else is
    exact.
    """
    exact = {name: one for name, one in found.items() if name != "mean"}
    mean = found.get("mean") == (
        pytest.approx(wanted["mean"], rel=1e-5, abs=1e-6) if "mean" in wanted else None
    )
    return mean and exact == {name: one for name, one in wanted.items() if name != "mean"}


@pytest.mark.row("N1")
@settings(deadline=None, max_examples=100)
@given(tables, calls)
def test_counts_and_figures_equal_those_of_a_plain_reference(made: Any, call: Call) -> None:
    records = table(made)
    about = counted(records, call)
    if not call.by and call.of is None:
        return
    answer = gate_over(records).call(call.principal, "browse", call.arguments)
    if answer.is_error:
        assert "no value" in answer.text
        assert names_a_value_that_nobody_has(records, call)
        return
    assert answer.structured is not None
    (catalogue,) = answer.structured["catalogues"]
    groups = grouped(about, call) if call.by else {}
    assert catalogue["records"] == catalogue["overall"]["count"] == len(about)
    assert sorted(one["count"] for one in catalogue["groups"]) == sorted(map(len, groups.values()))
    if call.of is not None:
        assert same(figures_in(catalogue["overall"]), figures(about, call.of))
        wanted = [figures(some, call.of) | {"count": len(some)} for some in groups.values()]
        for group in catalogue["groups"]:
            assert any(
                one["count"] == group["count"] and same(figures_in(group), without(one))
                for one in wanted
            )
        assert [one["id"] for one in catalogue.get("ranked", ())] == (
            [] if call.by else ranked(about, call.of)
        )
    assert values_missing_from_text(answer.structured, answer.text) == []


def ranked(records: Sequence[Record], of: str) -> list[str]:
    """Return the ids of the records that have a number, the highest first."""
    known = [
        (number, record.id) for record in records if (number := number_in(record, of)) is not None
    ]
    return [f"wines/{name}" for _, name in sorted(known, key=lambda one: (-one[0], one[1]))]


def without(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in figures.items() if name != "count"}


@pytest.mark.row("N1")
@settings(deadline=None, max_examples=80)
@given(tables, calls.filter(lambda call: call.by))
def test_the_filters_of_a_group_list_exactly_its_records(made: Any, call: Call) -> None:
    records = table(made)
    gate = gate_over(records)
    answer = gate.call(call.principal, "browse", call.arguments)
    if answer.is_error:
        return
    assert answer.structured is not None
    (catalogue,) = answer.structured["catalogues"]
    groups = grouped(counted(records, call), call)
    wanted = Counter(frozenset(one.id for one in some) for some in groups.values())
    listed: Counter[frozenset[str]] = Counter()
    for group in catalogue["groups"]:
        found = gate.call(
            call.principal,
            "search",
            {**catalogue["list_with"], "filters": group["filters"], "limit": 50},
        )
        assert found.structured is not None
        assert not found.is_error, found.text
        assert found.structured["total"] == group["count"]
        listed[
            frozenset(one["id"].removeprefix("wines/") for one in found.structured["results"])
        ] += 1
    assert listed == wanted
