"""The languages of the page: each has every text that people read, and none that is no longer
there.
"""

import json
import os
import re
from pathlib import Path

import pytest

from stackroom.serve.http.page_paths import FOLDER
from support.interface_texts import iter_keys, iter_unmarked, list_keys

pytestmark = pytest.mark.row("Z16")

LANGUAGES = sorted((FOLDER / "languages").glob("*.json"))
FOR_PROGRAMS = (
    "vendor/",
    "core/mcp.js",
    "views/chat/providers/",
    "views/chat/loop.js",
    "views/chat/talk.js",
)
"""Modules whose texts are read by language models and servers."""
NOT_TEXTS = re.compile(
    r"""Accept|Authorization|Bearer|SELECT|curl|claude\ mcp|application/
    |\w*\(|\.call|button,|textarea,
    |Enter|Escape|Arrows|Home|End
    |(?:Health|Analytics|Users|Roles|Access|Tokens|Jobs|Downloads|Changes|Audit|Logs)$
    |English|Deutsch|Anthropic|Google|Ollama|Claude\ Code|Cursor|VS\ Code
    |Streamable\ HTTP|Excel|JSON\ Lines|Parquet
    |[a-z-]+(?:\ [a-z-]+)*(?:\ \{\})*$|\d|\{\}\ \{\}px|\#version
    |This\ view\ has\ no|The\ user\ chose|\{\}\\nThe\ user|Unknown$|only\ addresses
    """,
    re.VERBOSE,
)
"""Formats, selectors, keys, names, classes and styles, and texts for assistants."""
HOLES = re.compile(r"\{\d?\}")


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_a_language_has_every_text_of_the_page_and_no_other(path: Path) -> None:
    known, texts = list_keys(FOLDER), json.loads(path.read_text(encoding="utf-8"))
    if os.environ.get("STACKROOM_UPDATE_GOLDEN"):
        texts = {key: texts.get(key, "") for key in sorted(known)}
        path.write_text(json.dumps(texts, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    missing = [f"{known[key]}: {key}" for key in known if not texts.get(key)]
    assert missing == [], "texts without a translation:\n" + "\n".join(missing)
    assert set(texts) - set(known) == set()


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_a_translation_has_the_values_of_its_text(path: Path) -> None:
    texts = json.loads(path.read_text(encoding="utf-8"))
    forms = [
        (key, form)
        for key, said in texts.items()
        for form in (said.values() if isinstance(said, dict) else [said])
    ]
    assert [key for key, form in forms if len(HOLES.findall(key)) != len(HOLES.findall(form))] == []


def test_every_text_that_people_read_can_be_translated() -> None:
    found = {
        f"{name}: {text}"
        for path in FOLDER.rglob("*.js")
        if not (name := path.relative_to(FOLDER).as_posix()).startswith(
            (*FOR_PROGRAMS, "views/chat/ui_tools.js")
        )
        for text in iter_unmarked(path.read_text(encoding="utf-8"))
        if not NOT_TEXTS.match(text)
    }
    assert found == set()


def test_the_languages_that_can_be_chosen_are_those_that_there_are() -> None:
    source = (FOLDER / "core" / "language.js").read_text(encoding="utf-8")
    offered = re.findall(r"(\w+):", re.findall(r"LANGUAGES = \{(.+?)\}", source)[0])
    assert sorted(offered) == sorted(["en", *(path.stem for path in LANGUAGES)])


def test_texts_are_found_in_templates_attributes_and_marks() -> None:
    source = """// `not this one`
    const said = t`${count} of ${total}`, pattern = /`"/u;
    html`<p class="quiet">Hello ${name && html`<b>dear ${name}</b>`}, you</p>\
<${Part} label="A label" name="no" />
      <code>stackroom init</code>${plural(records.length, "record")} \
${plural(n, "good match", "good matches")}`;"""
    wanted = {"{} of {}", "Hello {}, you", "dear", "A label", "{} records", "{} good matches"}
    assert {key for key in iter_keys(source) if re.search(r"\w\w|\{\} of", key)} == wanted
