"""A catalogue of invented dishes, large enough to be graded: titles, texts, tags, years, and the
cook of each.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.ingest.pipeline import IngestReport
from stackroom.settings import Settings
from stackroom.sources.json_rows import JsonRows
from support.loopback import EmbeddingServer

SPEC = """
name = "dishes"
title = "Dishes"
summary = "Dishes with their stories."
id = "id"

[kinds.dish]
title = "Dish"

[relations.cook]
kind = "dish"
field = "cook"
to = "dish"

[fields]
title = { type = "text", role = "title", required = true, search = { boost = 0.25, fuzzy = true } }
story = { type = "text", role = "body", search = true }
tags = { type = "text[]", filter = "any-of", facet = true, search = true }
year = { type = "int", role = "time", filter = "range" }
cook = { type = "text", filter = "equals" }

[embed]
template = "{title}. {story}"
"""

WORDS = re.findall(
    r"\w+",
    """
    apple barley basil beetroot butter cabbage candle carrot cellar cheese cherry chimney cider
    cinnamon clove copper cottage cream crust cumber dairy dough dumpling duck egg feast fennel
    festival fig fire fish flour forest frost garden garlic ginger goat goose grain grandmother
    grape guest ham harbour hazel herb honey island journey juniper kettle kitchen lamb lantern
    lemon lentil market meadow melon milk mill mint monastery mountain mushroom mustard nettle
    noodle nutmeg oat olive onion orchard oven oyster parsley peach pear pepper pickle pigeon plum
    poppy potato pumpkin quail radish raisin rhubarb rice river rosemary rye saffron sage salmon
    salt sausage shepherd smoke soup spinach spoon stew stone sugar summer tavern thyme tomato trout
    turnip valley vanilla village vinegar walnut watermill wedding wheat whisk wine winter yeast
    """,
)
ADJECTIVES = [
    "Amber",
    "Bitter",
    "Crooked",
    "Dusky",
    "Early",
    "Fallen",
    "Gilded",
    "Hidden",
    "Ivory",
    "Jolly",
]
COOKS = ["Agathe", "Bertram", "Cosima", "Dorian", "Elvira", "Florian"]


def make_dish(number: int) -> dict[str, Any]:
    """Return the row of one dish, the same for the same number."""
    generator = random.Random(f"dish {number}")
    first, second = generator.sample(WORDS, 2)
    sentences = [" ".join(generator.sample(WORDS, 9)).capitalize() + "." for _ in range(3)]
    return {
        "id": f"dish-{number}",
        "kind": "dish",
        "title": f"{ADJECTIVES[number % 10]} {first.capitalize()} and {second} of {number}",
        "story": " ".join(sentences),
        "tags": generator.sample(WORDS[:30], 2),
        "year": 1900 + number % 40,
        "cook": COOKS[generator.randrange(len(COOKS))],
    }


def write_dishes(path: Path, numbers: Iterable[int], **changed: Any) -> Path:
    """Write a source of dishes; `changed` replaces values in all of them, by a value or a function
    of the row.
    """
    rows = [make_dish(number) for number in numbers]
    for row in rows:
        row.update(
            {name: value(row) if callable(value) else value for name, value in changed.items()}
        )
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def add_dishes_to(app: App, path: Path, *, declaration: str = SPEC, **options: Any) -> IngestReport:
    """Build or update the catalogue of dishes from a file."""
    recipe = own_recipe(
        LoadedSpec(spec=compile_text(declaration, origin="dishes"), declaration=declaration)
    )
    return add_catalogue(
        app, JsonRows(path), recipe=recipe, name="dishes", progress=lambda _report: None, **options
    )


@contextmanager
def open_embedding(home: Path) -> Iterator[App]:
    """Open a library that a server on loopback embeds."""
    server = EmbeddingServer()
    with closing(App(Settings(home=home, embedding=server.settings()))) as app:
        yield app
    server.die()
