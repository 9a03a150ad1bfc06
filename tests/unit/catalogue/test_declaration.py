"""The form of a catalogue.toml."""

from pathlib import Path

import pytest

from stackroom.catalogue.compiler import load_spec
from stackroom.catalogue.declaration import parse_declaration
from stackroom.errors import SpecError

SMALL = """
name = "things"
title = "Things"
summary = "For tests."
[fields.type]
type = "text"
role = "title"
"""


def refusal(text: str) -> str:
    with pytest.raises(SpecError) as refused:
        parse_declaration(text, origin="things.toml")
    assert refused.value.message.startswith("things.toml: ")
    return refused.value.message


@pytest.mark.parametrize(
    ("line", "place", "meant"),
    [
        ("serch = true", "fields.type.serch", "search"),
        ("search = { boots = 1 }", "fields.type.search.boots", "boost"),
        ("[embed]\ntemplate = '{type}'\ntemplat = ''", "embed.templat", "template"),
        ("[kinds.a]\ntitel = ''", "kinds.a.titel", "title"),
        ("[recommend]\nsemantics = 1", "recommend.semantics", "semantic"),
        (
            "[recommend.taxonomy]\nweight = 1\nfields = ['type']\nwieght = 1",
            "recommend.taxonomy.wieght",
            "weight",
        ),
        ("[preferences]\nunit = {}", "preferences.unit", "units"),
    ],
)
def test_an_unknown_key_is_refused_with_its_place_and_the_one_that_was_meant(
    line: str, place: str, meant: str
) -> None:
    message = refusal(SMALL + line)
    assert f"unknown key '{place}' (did you mean '{meant}'?); known here: " in message
    assert meant in message.split("known here: ")[1]


def test_every_problem_is_told_at_once() -> None:
    message = refusal(
        SMALL.replace('title = "Things"', 'title = ""') + "serch = true\nfacet = 'often'"
    )
    assert all(
        place in message for place in ("'title'", "'fields.type.serch'", "'fields.type.facet'")
    )


@pytest.mark.parametrize("name", ["", "Things", "1things", "a b", "x" * 64, "../etc"])
def test_a_catalogue_name_that_could_not_be_a_folder_is_refused(name: str) -> None:
    assert "'name'" in refusal(SMALL.replace('"things"', f'"{name}"', 1))


def test_a_field_type_that_does_not_exist_is_refused_with_those_that_do() -> None:
    message = refusal(SMALL.replace('type = "text"', 'type = "string"'))
    assert "'fields.type.type'" in message
    assert (
        "must be one of text, text[], int, float, date, enum, tag[], json, url (given: 'string')"
        in message
    )


def test_text_that_is_not_toml_is_refused_by_line() -> None:
    assert "not valid TOML" in refusal("name = ")


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.toml: cannot be read"):
        load_spec(tmp_path / "none.toml")


def test_a_file_that_is_not_utf8_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(SMALL.replace("Things", "Caf\xe9").encode("latin-1"))
    with pytest.raises(SpecError, match=r"latin\.toml"):
        load_spec(path)
