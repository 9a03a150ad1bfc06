"""A small catalogue of stories and their authors in memory, with vectors, relations, edits and a
hidden record.
"""

from typing import Any

from stackroom.catalogue.compiler import compile_text
from stackroom.model.record import Record, RecordId, Tag
from stackroom.tools.catalogue import OpenCatalogue
from support.libraries import Shelved
from support.served import open_shelf

STORIES = """
name = "stories"
title = "Stories"
summary = "Stories and who wrote them."
editable = true

[kinds.story]
title = "Stories"

[kinds.author]
title = "Authors"

[relations.wrote]
kind = "story"
field = "author_ids"
to = "author"
inverse = "stories"
copies = "authors"

[fields]
title = { type = "text", role = "title", required = true, search = { boost = 0.25, fuzzy = true } }
text = { type = "text", role = "body", search = true }
author_ids = { type = "text[]", kinds = ["story"], filter = "any-of" }
authors = { type = "text[]", role = "people", kinds = ["story"], search = true }
moods = { type = "tag[]", filter = "all-of", facet = true }
year = { type = "int", role = "time", filter = "range" }

[embed]
template = "{title}. {text}"
"""
SPEC = compile_text(STORIES, origin="stories")


def make_story(name: str, text: str = "", *, moods: tuple[str, ...] = (), **fields: Any) -> Record:
    """Return a story; `name` is its id and its title."""
    audiences = fields.pop("audiences", ())
    values = {
        "title": name,
        "text": text or None,
        "moods": tuple(Tag("", mood) for mood in moods) or None,
        **fields,
    }
    return Record(
        id=RecordId(name),
        kind=fields.pop("kind", "story"),
        fields={key: value for key, value in values.items() if value is not None and key != "kind"},
        audiences=audiences,
    )


def open_stories() -> OpenCatalogue:
    """Return the catalogue, with a few stories of two authors; one of them only curators may
    see.
    """
    shelved = Shelved(spec=SPEC)
    ida = {"author_ids": ("ida",), "authors": ("Ida",)}
    shelved.put(
        make_story("ida", kind="author"),
        make_story("olaf", kind="author"),
        make_story(
            "Winter Road",
            "a long road through snow and ice",
            moods=("cold", "calm"),
            year=1998,
            **ida,
        ),
        make_story(
            "Snow House", "a house in snow and ice on a road", moods=("cold",), year=1999, **ida
        ),
        make_story("Ice Lake", "a lake of ice and snow", moods=("cold", "grim"), year=2012),
        make_story("River of Fire", "a river burns and nobody sleeps", moods=("wild",), year=2005),
        make_story(
            "Fire Island",
            "an island burns in the river",
            moods=("wild", "grim"),
            year=2006,
            authors=("Nobody",),
        ),
        make_story(
            "Secret Snow", "snow and ice on a secret road", audiences=("curator",), year=1998, **ida
        ),
    )
    return open_shelf(shelved.shelf, shelved.embedder)
