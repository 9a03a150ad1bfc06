"""An entry is added to a configuration and removed again: everything else keeps every byte."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.cli.clients.config_file import (
    ConfigFormat,
    ConfigTextError,
    add_entry,
    find_entry,
    remove_entry,
)
from stackroom.cli.clients.formats import JSONC, TOML, YAML

pytestmark = pytest.mark.row("N17")

SERVERS = "servers"
ENTRY: dict[str, Any] = {
    "command": r'C:\Program Files\ü "x"\stackroom.exe',
    "args": ["serve", "films", "#no comment"],
    "env": {"STACKROOM_HOME": "/home/me/a: b", "STACKROOM_TOOL_NAMES": "plain"},
}


def test_an_entry_of_ours_that_somebody_edited_and_wrote_below_is_removed_alone() -> None:
    text = '{"servers": {"stackroom": {"command": "p", /* mine */ "x": 1}, "later": {}}}'
    assert remove_entry(JSONC, text, SERVERS, backup=None) == '{"servers": { "later": {}}}'
    tables = (
        '[servers.stackroom]\ncommand = "p" # mine\n\n[servers.stackroom.env]\nA = "1"\n\n# of'
        " later\n[servers.later]\n"
    )
    assert remove_entry(TOML, tables, SERVERS, backup=None) == "\n# of later\n[servers.later]\n"
    blocks = "servers:\n  stackroom:\n    cmd: p # mine\n\n    args: []\n  later:\n    cmd: x\n"
    assert remove_entry(YAML, blocks, SERVERS, backup=None) == "servers:\n  later:\n    cmd: x\n"


@pytest.mark.parametrize(
    ("form", "text", "problem"),
    [
        (JSONC, '{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: Expecting ',' delimiter"),
        (JSONC, '{"a": 1,,}', "line 1, column 10"),
        (JSONC, "{} {}", "line 1, column 4"),
        (JSONC, "[]", "its root is a list"),
        (JSONC, '{"servers": []}', "'servers' is not an object"),
        (JSONC, "[" * 5_000, "nested too deeply"),
        (JSONC, '{"a": ' + "9" * 5_000 + "}", "a number in it has too many digits"),
        (TOML, "\na b = 1", "line 2"),
        (YAML, "a: [", "line 1, column 5"),
        (YAML, "- a", "its root is a list"),
        (YAML, "a: !!timestamp x", "line 1, column 4: failed to construct timestamp"),
        (YAML, "a: !!bool x", "a value in it is malformed"),
        (YAML, "servers: [1]", "'servers' is not a mapping"),
    ],
)
def test_a_text_that_cannot_be_edited_is_refused_with_its_place(
    form: ConfigFormat, text: str, problem: str
) -> None:
    with pytest.raises(ConfigTextError, match=problem):
        add_entry(form, text, SERVERS, ENTRY)


def test_an_edit_that_would_change_anything_else_is_refused() -> None:
    """The control of the reading back: an insertion that loses another entry."""
    careless = ConfigFormat(
        parse=JSONC.parse,
        insert=lambda *_: json.dumps({"servers": {"stackroom": ENTRY}}),
        remove=JSONC.remove,
    )
    assert add_entry(careless, "{}", SERVERS, ENTRY)
    with pytest.raises(ConfigTextError, match="cannot be edited safely"):
        add_entry(careless, '{"theme": "dark"}', SERVERS, ENTRY)


BLANKS = st.sampled_from(["", " ", "\n", "\n  ", " // note\n", "/* , } */", "\t"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
VALUES = st.recursive(
    SCALARS,
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3),
    max_leaves=6,
)


@st.composite
def commented(draw: st.DrawFn, value: Any) -> str:
    """Write a value as JSON with comments, blanks and trailing commas at random."""
    if not isinstance(value, dict | list):
        return draw(BLANKS) + json.dumps(value) + draw(BLANKS)
    pairs = value.items() if isinstance(value, dict) else [(None, one) for one in value]
    parts = [
        ("" if key is None else f"{draw(BLANKS)}{json.dumps(key)}{draw(BLANKS)}:")
        + draw(commented(one))
        for key, one in pairs
    ]
    comma = "," if parts and draw(st.booleans()) else ""
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return draw(BLANKS) + opening + ",".join(parts) + comma + draw(BLANKS) + closing + draw(BLANKS)


@settings(max_examples=50)
@given(
    st.dictionaries(st.text(max_size=3), VALUES, max_size=3),
    st.none() | st.dictionaries(st.text(max_size=3), VALUES, max_size=2),
    st.data(),
)
def test_any_configuration_of_json_with_comments_is_given_back(
    others: dict[str, Any], servers: dict[str, Any] | None, data: st.DataObject
) -> None:
    text = data.draw(commented(others if servers is None else {**others, "servers": servers}))
    added = add_entry(JSONC, text, SERVERS, ENTRY)
    assert find_entry(JSONC, added, SERVERS) == ENTRY
    assert remove_entry(JSONC, added, SERVERS, backup=text) == text
