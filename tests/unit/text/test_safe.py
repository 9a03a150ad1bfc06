"""Text that is safe to show: nothing controls a terminal, reorders or hides text; text of any
language is unchanged.
"""

import json
from pathlib import PurePath

import pytest

from stackroom.text.safe import (
    hide_places,
    hider_of,
    is_safe,
    safe_json,
    safe_line,
    safe_text,
    safe_value,
)

HARMLESS = [
    "plain text, with\ttabs\nand lines",
    "\N{FAMILY} 👨‍👩‍👧‍👦 ❤️‍🔥 👩🏽‍🚀 🏳️‍⚧️ 🏴‍☠️ 1️⃣ ☕️ 🇩🇪",
    # the flag of Scotland
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "می\u200cخواهم کتاب\u200cها را ببینم",
    "क्\u200dष and क्\u200cष",
    "ශ්\u200dරී ලංකා",
    "ភាសា\u200bខ្មែរ",
    "مرحبا\u200f! שלום\u200e (123)",
    "葛\U000e0100城市 辻\ufe00",
    "e\u0301 n\u0303 ṩ́ Việt Nam",
    "ö ß ñ ç ø ł Ἀθῆναι Москва 東京 서울",
    "soft\u00adhyphen, no\u00a0break",
    "\u1100\u1160 \u115f\u1161",
    "ᠮᠣᠩᠭᠣᠯ\u180eᠠ",
]

UNSAFE = {
    "\x1b[31mred\x1b[0m": "red",
    "\x1b]0;a title\x07text": "text",
    "\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\": "link",
    "\x1bPq#0;2\x1b\\text": "text",
    "\x9b2Jtext": "text",
    "\x9d0;a title\x9ctext": "text",
    "\x1b]0;without end": "0;without end",
    "\x1b(0text\x1b": "text",
    "a\x00b\x07c\x08d\x7fe\x80f": "abcdef",
    "a\r\nb\rc\x0cd\x85e": "a\nb\nc\nd\ne",
    "\u202eltr\u202c \u2066x\u2069": "ltr x",
    "abc\u200e\u200f": "abc",
    "ab\u200bcd\u200c\u200d\ufeff\u2060": "abcd",
    "x\U000e0041\U000e0042\U000e007f": "x",
    "x\ufe0f\ufe01\U000e0100\U000e0101": "x\ufe0f",
    "na\u3164me": "name",
    "half \ud800": "half \ufffd",
    "שלום\u200f\u200f\u200f": "שלום\u200f",
}


@pytest.mark.row("N10")
@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_of_any_language_is_unchanged(text: str) -> None:
    assert safe_text(text) == text


@pytest.mark.row("N10")
@pytest.mark.parametrize(("text", "safe"), UNSAFE.items())
def test_what_controls_a_terminal_or_hides_text_is_removed(text: str, safe: str) -> None:
    assert safe_text(text) == safe
    assert safe_text(safe) == safe


def test_no_text_gets_longer() -> None:
    assert all(
        len(safe_text(text).encode()) <= len(text.encode("utf-8", "surrogatepass"))
        for text in UNSAFE
    )


def test_a_line_has_no_line_ends() -> None:
    assert safe_line("a\r\n  b\u2028c\n\n\nd\x1b[2J") == "a b c d"


def test_a_text_without_suspects_is_known_to_be_safe() -> None:
    assert is_safe("plain")
    assert is_safe("grün\n")
    assert not is_safe("\x1b")
    assert not is_safe("ü\u202e")


def test_values_are_made_safe_with_their_keys() -> None:
    assert safe_value({"a\x1b[1m": ["b\x07", ("c\u202e", 1, None)]}) == {"a": ["b", ["c", 1, None]]}


def test_json_is_made_safe_where_it_escapes_characters_too() -> None:
    text = json.dumps({"title": "\x1b[31mred\x1b[0m \\u001b \u202e"})
    assert json.loads(safe_json(text)) == {"title": "red \\u001b "}
    assert safe_json('{"a": "grün"}') == '{"a": "grün"}'


def test_a_flood_of_introducers_is_made_safe_in_linear_time() -> None:
    assert safe_text("\x1b]" * 200_000) == ""
    assert safe_text("\x9d" * 200_000) == ""


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("/srv/lib/catalogues/bcl/lance: cannot be read", "lance: cannot be read"),
        (
            "Not found: bcl, (/root/.cargo/registry/src/lance-1/src/table.rs:31:5)",
            "Not found: bcl, (table.rs:31:5)",
        ),
        ("infinity at http://127.0.0.1:45257: cannot be reached", "infinity: cannot be reached"),
        ("see '/var/lib/x/y'; then", "see 'y'; then"),
        ("POST /v1/me/password with JSON; /openapi.json lists the paths", None),
        ("dnd/records.sqlite: cannot be opened; km/h and/or 3/4", None),
        ("no record 'stackroom://anime/5'", None),
    ],
)
def test_paths_are_cut_to_their_last_part_and_addresses_of_services_left_out(
    message: str, shown: str | None
) -> None:
    assert hide_places(message) == (message if shown is None else shown)


def test_a_known_folder_is_hidden_whatever_characters_it_has() -> None:
    hide = hider_of([PurePath("/srv/my library, (new)")])
    assert hide("/srv/my library, (new)/models/x.onnx is missing") == "models/x.onnx is missing"
    assert "srv" not in hide("the folder /srv/my library, (new) is full")
