"""Tools and arguments are told apart by their descriptions alone: a judge that only compares words
finds them.
"""

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackroom.model.principal import LOCAL_USER
from stackroom.text.analyser import analyse_query
from support.libraries import Library

pytestmark = pytest.mark.row("N8")

QUESTIONS = tomllib.loads(Path(__file__).with_name("descriptions.toml").read_text("utf-8"))[
    "questions"
]
FIRST_TOOLS, FIRST_ARGUMENTS = 3, 2


def words_of(value: Any) -> set[str]:
    """Return the stems of a name, a description or a whole schema."""
    if isinstance(value, Mapping):
        return set().union(*(words_of(part) for item in value.items() for part in item))
    if isinstance(value, list):
        return set().union(*map(words_of, value))
    apart = "".join(f" {letter}" if letter.isupper() else letter for letter in str(value)).replace(
        "_", " "
    )
    return {
        stem
        for text in (str(value), apart)
        for stem, _ in analyse_query(text.replace(".", " "), synonyms={}).terms
    }


def best(ask: str, described: Mapping[str, set[str]]) -> list[str]:
    """Return names in the order of the rare words that their descriptions share with a question."""
    common = Counter(word for words in described.values() for word in words)
    rarity = {word: math.log(1 + len(described) / count) for word, count in common.items()}
    asked = words_of(ask)
    scores = {
        name: sum(rarity[word] for word in asked & words) for name, words in described.items()
    }
    return sorted((name for name in scores if scores[name]), key=lambda name: (-scores[name], name))


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["ask"])
def test_the_words_of_a_question_lead_to_its_tool_and_argument(
    whole: Library, question: dict[str, str]
) -> None:
    tools = {tool.name: tool for tool in whole.gate.list_tools(LOCAL_USER)}
    told = {
        name: words_of([name, tool.description, tool.input_schema["properties"]])
        for name, tool in tools.items()
    }
    assert question["tool"] in best(question["ask"], told)[:FIRST_TOOLS]
    arguments = tools[question["tool"]].input_schema["properties"]
    others = {name: words_of([name, schema]) for name, schema in arguments.items()}
    wanted = question.get("argument", "query")
    assert wanted in ("query", *best(question["ask"], others)[:FIRST_ARGUMENTS])
