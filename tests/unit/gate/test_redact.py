"""What may be written down of a call's parameters."""

import json
from typing import Any

import pytest

from stackroom.gate.auditing import DEEPEST, LONGEST_TEXT, LOOKED_AT, MOST_ITEMS, REDACTED, redacted

SECRET = "hunter22-hunter22"
OURS = "stk_t_" + "Zm9vYmFy-_" * 4
SESSION = "stk_s_" + "Zm9vYmFy-_" * 4
JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.MEUCIQDx-_y"

SECRET_NAMES = [
    "password",
    "new_password_again",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "refresh_token",
    "api_key",
    "x-api-key",
    "credential",
    "Authorization",
    "Set-Cookie",
    "private_key",
    "bearer",
]
SECRET_TEXTS = [
    OURS,
    SESSION,
    JWT,
    "eyJhbGciOiJFUzI1NiJ9",
    f"Bearer {SECRET}",
    f"authorization: Bearer {SECRET}",
    f"Authorization: Basic {SECRET}==",
    f"Authorization={SECRET}",
    f"AUTHORIZATION:   Digest   {SECRET}",
    f"postgresql+psycopg://ada:{SECRET}@db.example.org/control",
    f"postgresql+psycopg://ada:pa@{SECRET}@db.example.org/control",
    f"https://{SECRET}@example.org/keys",
    f"https://example.org/keys?api_key={SECRET}&n=5",
    f"https://example.org/keys?n=5&X-Amz-Signature={SECRET}",
    f"https://example.org/keys?sig={SECRET}",
]


def is_hidden(value: Any) -> bool:
    """Tell whether nothing of a secret is left, not even a part."""
    text = json.dumps(value)
    parts = [
        SECRET,
        SECRET[:8],
        OURS[6:14],
        SESSION[6:14],
        JWT[3:11],
        JWT.split(".")[1],
        JWT.split(".")[2],
    ]
    return REDACTED in text and not any(part in text for part in parts)


@pytest.mark.row("Z13")
@pytest.mark.parametrize("name", SECRET_NAMES)
@pytest.mark.parametrize(
    "value", [SECRET, [SECRET], {"value": SECRET}, 12345678, None, "x" * 4_000]
)
def test_what_is_a_secret_by_its_name_is_not_written_down(name: str, value: Any) -> None:
    assert redacted({"query": "sea", name: value}) == {"query": "sea", name: REDACTED}
    assert redacted({"outer": [{name: value}]}) == {"outer": [{name: REDACTED}]}


@pytest.mark.row("Z13")
@pytest.mark.parametrize("text", SECRET_TEXTS)
@pytest.mark.parametrize(
    "around", ["{}", "find {} please", "x={};y=1", "{}\n{}", "<{}>", "({})", "key_{}", "'{}'"]
)
def test_what_is_a_secret_by_its_form_is_not_written_down_wherever_it_stands(
    text: str, around: str
) -> None:
    found = around.replace("{}", text)
    for value in (found, [found], {"query": found}, {"a": {"b": [found]}}, {found: "sea"}):
        assert is_hidden(redacted(value)), redacted(value)


@pytest.mark.parametrize("start", [0, LONGEST_TEXT - 20, LONGEST_TEXT - 1])
@pytest.mark.parametrize(
    "secret", [OURS, JWT, f"Bearer {SECRET}", "eyJ" + "hbGciOiJ" * 4_000, f"Bearer {SECRET * 900}"]
)
def test_a_secret_is_not_cut_in_half_before_it_is_seen(start: int, secret: str) -> None:
    value = redacted("." * start + " " + secret + " end")
    assert secret[10:16] not in value
    assert len(value) < LONGEST_TEXT + 40


@pytest.mark.parametrize(
    "text",
    [
        "a basic understanding of bearer bonds",
        "the token ring, its password and the secret garden",
        "authorization of the budget",
        "https://example.org/a:b@c",
        "https://example.org/?q=a+key+token&n=5",
        "ratio 3:4 @ noon",
        "eyJ",
        "stk_t_short",
    ],
)
def test_words_about_secrets_are_kept(text: str) -> None:
    assert redacted(text) == text
    assert redacted({"query": text}) == {"query": text}


@pytest.mark.parametrize("name", ["key", "keywords", "author", "passage", "code", "signature"])
def test_what_only_sounds_like_a_secret_is_kept(name: str) -> None:
    assert redacted({name: "C minor"}) == {name: "C minor"}


@pytest.mark.parametrize(
    "value", [None, True, False, 0, -7, 2.5, "", "sea", [], {}, ["a", 1], {"a": {"b": None}}]
)
def test_everything_else_is_kept_as_it_is(value: Any) -> None:
    assert redacted(value) == value


def test_what_is_long_is_cut_and_says_how_long_it_was() -> None:
    assert redacted("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert redacted("x" * 501) == "x" * LONGEST_TEXT + "… (501 characters)"
    assert redacted("x" * 70_000) == "x" * LONGEST_TEXT + "… (70000 characters)"
    assert redacted(list(range(200))) == [*range(MOST_ITEMS), "… (200 items)"]
    many = redacted({f"k{number:03}": number for number in range(200)})
    assert len(many) == MOST_ITEMS + 1
    assert many["…"] == "200 keys"


def test_what_is_deep_is_cut() -> None:
    deep: Any = "bottom"
    for _ in range(DEEPEST + 3):
        deep = {"in": deep}
    assert json.dumps(redacted(deep)).count('"in"') == DEEPEST
    assert "bottom" not in json.dumps(redacted(deep))


def test_what_no_database_takes_is_replaced() -> None:
    assert redacted("a\0b") == "a␀b"
    assert redacted("half \ud83d pair").encode("utf-8")
    assert redacted({"\ud83d": "\0"}) == {"?": "␀"}


@pytest.mark.parametrize(
    "unit",
    [
        "-eyJaaaaaaaa",
        "stk_t_",
        "bearer ",
        "authorization: ",
        "://a:",
        "?key",
        "&a.key",
        "&" + "key" * 3000,
    ],
)
def test_a_hostile_text_is_redacted_like_any_other(unit: str) -> None:
    """Work that grows with the square of the length would take hours, and the test would not
    end.
    """
    hostile = unit * (4_000_000 // len(unit))
    redacted({"query": hostile, hostile: 1})
    assert len(hostile) > LOOKED_AT


def test_a_secret_behind_the_mark_of_a_place_in_a_page_is_left_out() -> None:
    assert "hunter22" not in redacted("see https://example.org/b#access_token=hunter22")
