"""The engine names no shipped catalogue: neither its name, nor its kinds, nor its tools."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import stackroom
from stackroom.packages import GROUP, PACKAGES, CataloguePackage

ENGINE = Path(stackroom.__file__).parent
SHIPPED = [entry.name for entry in distribution("stackroom").entry_points if entry.group == GROUP]

ORDINARY = {
    "record": "the engine's own word, and the kind of a catalogue that declares none",
    "document": "a text to embed, an OpenAPI or JSON document, a document of the text index",
    "documents": "their plural",
    "passage": "a piece of a long text",
    "card": "a graphics card",
    "ping": "a message of the protocols",
}
"""Words of the engine that a shipped catalogue uses too. As a whole string they are refused all the
same.
"""

ALLOWED = {
    # names of columns in tables of any kind
    "catalogue/column_words.toml": {"artist", "album", "track"},
    "catalogue/infer/fields.py": {"artist"},
    "analytics/events.py": {"track"},  # a key of the answer
    "cli/model.py": {"documents"},  # the heading of a column
    "shelf/postgres_search/index.py": {"documents"},  # the name of a table
    "search/remote_reranker.py": {"documents"},  # a key of the request
}
"""Module → words that it has for another reason."""

pytestmark = pytest.mark.row("N11")


def words_of(package: CataloguePackage) -> set[str]:
    """Return what a package is called, its kinds, its samples and its tools."""
    stand_in = cast(
        Any, SimpleNamespace(name=package.samples[0].name, spec=package.spec, folder=None)
    )
    tools = {tool.name for tool in package.tools([stand_in])}
    return {package.name, *package.spec.kinds, *(sample.name for sample in package.samples), *tools}


@cache
def forbidden_words() -> set[str]:
    return set().union(*(words_of(PACKAGES.get(name)) for name in SHIPPED))


def find_words(text: str, words: set[str]) -> Iterator[str]:
    """Yield those of the words, in the singular or plural, that the text has; an underscore ends a
    word.
    """
    listed = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    for found in re.finditer(rf"(?<![^\W_])({listed})s?(?![^\W_])", text, re.IGNORECASE):
        yield found[1].lower()


def find_strings(text: str, words: set[str]) -> Iterator[str]:
    """Yield those of the words that are a whole string in the code."""
    for node in ast.walk(ast.parse(text)) if any(word in text for word in words) else ():
        if isinstance(node, ast.Constant) and node.value in words:
            yield str(node.value)


def named_in(path: Path) -> set[str]:
    text, words = path.read_text(encoding="utf-8"), forbidden_words()
    strings = find_strings(text, {"documents"}) if path.suffix == ".py" else ()
    names = {*find_words(text, words - set(ORDINARY)), *strings}
    return names - ALLOWED.get(path.relative_to(ENGINE).as_posix(), set())


def test_no_module_of_the_engine_names_a_shipped_catalogue_its_kinds_or_its_tools() -> None:
    modules = sorted([*ENGINE.rglob("*.py"), *ENGINE.rglob("*.toml")])
    named = {path.relative_to(ENGINE).as_posix(): named_in(path) for path in modules}
    assert {module: names for module, names in named.items() if names} == {}


def test_the_words_come_from_the_packages() -> None:
    assert len(SHIPPED) == 5
    assert {
        "anime",
        "judoka",
        "artist",
        "technique",
        "search_papers",
        "query_rag",
        "handbook",
    } <= forbidden_words()
    assert set(ORDINARY) <= forbidden_words()


@pytest.mark.parametrize(
    "code",
    [
        'MUSIC = "music"',
        "def find_album(): ...",
        '"""Reads papers."""',
        "call('query_rag')",
        "# of anime",
    ],
)
def test_a_module_that_names_one_is_found(code: str) -> None:
    assert list(find_words(code, forbidden_words() - set(ORDINARY)))


def test_a_name_that_is_an_ordinary_word_is_found_where_it_is_a_whole_string() -> None:
    assert list(find_strings('spec_name = "documents"', {"documents"})) == ["documents"]


def test_nothing_is_allowed_that_is_not_there() -> None:
    for module, words in ALLOWED.items():
        text = (ENGINE / module).read_text(encoding="utf-8")
        strings = find_strings(text, words) if module.endswith(".py") else ()
        assert words <= {*find_words(text, words), *strings}, module
