"""Sizing, security, comparison and glossary: short, and in the words of the code; `test_commands`
follows them.
"""

import re

import pytest

from stackroom.model.principal import Action
from support.pages import ROOT

DOCS = ROOT / "docs"


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["sizing.md", "security.md", "compare.md", "glossary.md"])
def test_a_page_has_at_most_nine_hundred_words(name: str) -> None:
    assert len(read(name).split()) <= 900


def test_the_words_of_the_glossary_are_in_order() -> None:
    words = re.findall(r"^\| ([^|]+) \| ", read("glossary.md"), re.MULTILINE)[1:]
    assert len(words) > 40
    assert words == sorted(words, key=str.casefold)


def test_the_security_model_names_permissions_that_exist() -> None:
    named = set(
        re.findall(
            r"\b(?:Access|Edit|Request|View|Manage|Server)[A-Z]\w+|\bServerAdmin\b",
            read("security.md"),
        )
    )
    assert named
    assert named <= {*Action}
