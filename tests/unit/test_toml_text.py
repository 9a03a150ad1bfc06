"""No TOML file gives anything but a message of one line, wherever it is read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from stackroom.catalogue.compiler import load_spec
from stackroom.errors import ExpectedError
from stackroom.grading.golden_set import load_own_questions
from stackroom.settings import load_settings
from stackroom.toml_text import TomlError, parse_toml

HOSTILE: dict[str, bytes] = {
    "200,000 brackets": b"a = " + b"[" * 200_000,
    "tables in tables": b"x = 1\na = " + b"{b=" * 5_000 + b"1" + b"}" * 5_000,
    "5,000 digits": b"\n\nname = " + b"9" * 5_000,
    "a hexadecimal number without end": b"name = 0x" + b"f" * 100_000,
    "a port without end": b"[server]\nport = 0x" + b"f" * 100_000,
    "an exponent beyond all": b"name = 1e999999999",
    "not a number": b"[search]\nwords = nan",
    "minus infinity": b"[search]\nwords = -inf",
    "a mark of byte order twice": b"\xef\xbb\xbf\xef\xbb\xbfa = 1",
    "UTF-16": "name = 'x'".encode("utf-16"),
    "Latin-1": "name = 'caf\xe9'".encode("latin-1"),
    "a NUL": b"name = 'x\0y'",
    "half a character": rb'name = "\ud800"',
    "a key twice": b"name = 1\nname = 2",
    "a dotted key without end": b"a" + b".a" * 20_000 + b" = 1",
    "a quoted key without end": b'["a"' + b' . "a"' * 20_000 + b"]",
    "a date that is none": b"name = 2021-02-31",
    "a day of the year 0": b"name = 0000-01-01",
    "a text without end": b'name = """x',
    "a table that is a value": b"name = 1\n[name.x]",
    "only blanks": b" \n\t\n",
    "a value that is a list": b"search = [1, 2]",
    "a section that is a text": b'mcp = "x"',
    "random bytes": bytes(range(256)) * 4,
}


def read_as_settings(path: Path) -> None:
    load_settings({"STACKROOM_HOME": str(path.parent)})


def read_as_questions(path: Path) -> None:
    load_own_questions(path, cast(Any, None))


READERS = [read_as_settings, load_spec, read_as_questions]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_its_name_and_without_a_traceback(
    tmp_path: Path, name: str, read: Callable[[Path], None]
) -> None:
    path = tmp_path / "stackroom.toml"
    path.write_bytes(HOSTILE[name])
    message = message_of(path, read)
    assert "\n" not in message
    assert len(message) < 2_000


def message_of(path: Path, read: Callable[[Path], None]) -> str:
    """Return the message about a file; empty where it is taken."""
    try:
        read(path)
    except ExpectedError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("name", "line"),
    [("5,000 digits", 3), ("a port without end", 2), ("a dotted key without end", 1), ("a NUL", 1)],
)
def test_the_message_says_where_it_is(name: str, line: int) -> None:
    with pytest.raises(TomlError, match=f"at line {line}"):
        parse_toml(HOSTILE[name].decode())


def test_a_mark_of_byte_order_is_passed_over() -> None:
    assert parse_toml("\ufeffa = 1") == {"a": 1}


@pytest.mark.parametrize("value", ['"perhaps"', "[]", "0.5"])
def test_a_flag_in_the_file_is_true_or_false(tmp_path: Path, value: str) -> None:
    (tmp_path / "stackroom.toml").write_text(f"[mcp]\nenabled = {value}\n", "utf-8")
    with pytest.raises(ExpectedError, match=r"setting 'mcp.enabled': .* is not true or false"):
        read_as_settings(tmp_path / "stackroom.toml")


@pytest.mark.parametrize(("value", "is_enabled"), [("yes", True), ("0", False), ("false", False)])
def test_a_flag_in_the_environment_is_a_text(tmp_path: Path, value: str, is_enabled: bool) -> None:
    settings = load_settings({"STACKROOM_HOME": str(tmp_path), "STACKROOM_MCP_ENABLED": value})
    assert settings.mcp.enabled is is_enabled
