"""A row's kind: from the path that the declaration names, or from the source that the row comes
from.
"""

from typing import Any

import pytest

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError, SpecError
from stackroom.ingest.mapping import (
    build_mapping,
    find_source_kind,
    mapping_of_source,
    require_derivable_kinds,
)
from stackroom.model.record import Record

pytestmark = [pytest.mark.row("N1"), pytest.mark.row("N11")]

HEAD = 'name = "games"\ntitle = "Games"\nsummary = "For tests."\nid = "id"\n'
FIELDS = """
[fields]
name = { type = "text", role = "title" }
year = { type = "int", kinds = ["game"] }
country = { type = "text", kinds = ["designer"] }
"""
KINDS = "[kinds.game]\n[kinds.designer]\n"
SOURCES = (
    '[kinds.game]\nsources = ["games*.csv"]\n[kinds.designer]\nsources = ["designers.csv",'
    ' "*#designers"]\n'
)


def spec_of(head: str = "", kinds: str = KINDS) -> CatalogueSpec:
    return compile_text(HEAD + head + kinds + FIELDS, origin="games.toml")


def record_of(spec: CatalogueSpec, kind: str | None = None, **row: Any) -> Record:
    (record,) = build_mapping(spec, kind=kind).records_of({"id": "1", "name": "One", **row})
    return record


@pytest.mark.parametrize("stated", ["designer", "Designer", " DESIGNER ", ["designer"]])
def test_a_row_s_kind_is_what_stands_at_the_declared_path(stated: Any) -> None:
    assert record_of(spec_of('kind = "about.type"\n'), about={"type": stated}).kind == "designer"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"type": "gamer"}, r"no kind 'gamer' \(did you mean 'game'\?\); kinds: game, designer"),
        ({"type": "7"}, "no kind '7'; kinds: game, designer"),
        ({"type": ""}, "'type', the record's kind, is missing; kinds: game, designer"),
        ({}, "'type', the record's kind, is missing"),
        (
            {"type": ["game", "designer"]},
            "'type', the record's kind, has several values: 'game, designer'",
        ),
    ],
)
def test_a_row_that_names_no_declared_kind_is_refused_with_those_there_are(
    row: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        record_of(spec_of('kind = "type"\n'), **row)


def test_a_record_has_the_fields_of_its_kind_only() -> None:
    spec = spec_of('kind = "type"\n')
    row = {"year": 1995, "country": "Germany"}
    assert record_of(spec, type="game", **row).fields == {"name": "One", "year": 1995}
    assert record_of(spec, type="designer", **row).fields == {"name": "One", "country": "Germany"}


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("/data/games.csv", "game"),
        ("/data/games-2024.csv", "game"),
        ("/data/designers.csv", "designer"),
        ("/data/all.sqlite#designers", "designer"),
    ],
)
def test_a_source_that_a_kind_lists_has_rows_of_that_kind(source: str, kind: str) -> None:
    spec = spec_of(kinds=SOURCES)
    assert find_source_kind(spec, source) == kind
    (record,) = mapping_of_source(build_mapping(spec), spec, source).records_of(
        {"id": "1", "name": "One"}
    )
    assert record.kind == kind


def test_a_source_of_no_kind_is_refused_with_the_sources_that_are_listed() -> None:
    with pytest.raises(InputError) as refused:
        find_source_kind(spec_of(kinds=SOURCES), "/data/people.csv")
    assert "/data/people.csv: the kind of its rows is unknown" in refused.value.message
    assert "game: games*.csv; designer: designers.csv, *#designers" in refused.value.message


def test_rows_of_a_source_that_no_kind_lists_say_their_kind_where_a_path_is_declared() -> None:
    spec = spec_of('kind = "type"\n', kinds=SOURCES)
    assert find_source_kind(spec, "/data/people.csv") is None
    assert find_source_kind(spec, "/data/designers.csv") == "designer"


def test_several_kinds_and_no_word_of_which_a_row_is_are_refused() -> None:
    with pytest.raises(
        SpecError, match=r"games.toml: it has several kinds \(game, designer\) and does not say"
    ):
        require_derivable_kinds(spec_of(), origin="games.toml")
    require_derivable_kinds(spec_of('kind = "type"\n'), origin="games.toml")
    require_derivable_kinds(spec_of(kinds=SOURCES), origin="games.toml")


def test_where_rows_say_their_kind_the_kinds_are_declared_and_no_field_has_that_name() -> None:
    with pytest.raises(SpecError, match=r"'kind': no kinds are declared"):
        compile_text(
            HEAD + 'kind = "type"\n[fields.name]\ntype="text"\nrole="title"\n', origin="games.toml"
        )
    with pytest.raises(SpecError, match=r"'fields.kind': 'kind' is reserved for the record's kind"):
        spec_of('kind = "type"\n', kinds=KINDS + "[fields.kind]\ntype = 'text'\n")


def test_where_a_kind_comes_from_is_no_part_of_what_is_indexed() -> None:
    assert (
        len({spec_of().digest, spec_of('kind = "type"\n').digest, spec_of(kinds=SOURCES).digest})
        == 1
    )
