"""Two catalogues of one layout: its tools serve both, say which one a record is from, and let a
call choose.
"""

import importlib.resources
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.assembly.serving import ToolChoice
from stackroom.errors import StorageError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.shelf.port import Put
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.search import find_parts

OTHER = "other"
OWN_RECORDS = {
    "papers": Record(
        id=RecordId("own-1"), fields={"title": "Quokka census", "abstract": "We count quokkas."}
    ),
    "anime": Record(
        id=RecordId("own-1"), fields={"title": "Quokka Days", "type": "TV", "status": "FINISHED"}
    ),
    "judoka": Record(
        id=RecordId("own-1"),
        kind="card",
        fields={"name": "Quokka Mori", "country": "Japan", "visibility": "shown", "stats": {}},
    ),
    "music": Record(id=RecordId("artist-quokka"), kind="artist", fields={"name": "Quokka"}),
}
"""A record of each layout that only the second catalogue has."""


class Twins:
    """The sample of one layout, under two names; the second has a record of its own."""

    def __init__(self, app: App, layout: str) -> None:
        self.layout = layout
        package = PACKAGES.get(layout)
        for name in (layout, OTHER):
            with importlib.resources.as_file(package.samples[0].files) as path:
                add_catalogue(
                    app,
                    open_rows(package, str(path)),
                    recipe=package_recipe(package),
                    name=name,
                    progress=lambda _report: None,
                    embed=False,
                )
        app.open_catalogue(OTHER).shelf.writer().apply([Put(record=OWN_RECORDS[layout])])
        self.gate: Gate = app.build_gate(tools=ToolChoice.OWN)

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.gate.call(LOCAL_USER, tool, arguments)
        assert answer.structured is not None, answer.text
        return dict(answer.structured)

    def refusal(self, tool: str, **arguments: Any) -> str:
        answer = self.gate.call(LOCAL_USER, tool, arguments)
        assert answer.error_code == "invalid_input", answer.text
        return answer.text


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Twins]]:
    apps: list[App] = []
    made: dict[str, Twins] = {}

    def make(layout: str) -> Twins:
        if layout not in made:
            apps.append(App(Settings(home=tmp_path_factory.mktemp(layout))))
            made[layout] = Twins(apps[-1], layout)
        return made[layout]

    yield make
    for app in apps:
        app.close()


def sources(items: list[Mapping[str, Any]]) -> set[str | None]:
    return {one.get("catalogue") for one in items}


@pytest.mark.parametrize("layout", ["papers", "anime", "judoka", "music"])
def test_every_tool_takes_a_catalogue_and_refuses_an_unknown_one(twins: Any, layout: str) -> None:
    served = twins(layout)
    own = [tool for tool in served.gate.list_tools(LOCAL_USER) if tool.name != "catalog.mutate"]
    assert own
    for tool in own:
        assert tool.input_schema["properties"]["catalogue"]["enum"] == sorted((layout, OTHER))
        assert tool.description.endswith(
            (f" Catalogues: {layout}, {OTHER}.", f" Catalogues: {OTHER}, {layout}.")
        )
        assert "catalogue" not in tool.input_schema.get("required", [])
    search = {
        "papers": "search_papers",
        "anime": "search_anime",
        "judoka": "judokon.search",
        "music": "catalog.search",
    }
    told = served.refusal(search[layout], query="x", catalogue="othr")
    assert "no 'othr' (did you mean 'other'?); there are: " in told


@pytest.mark.row("A1", "J2", "Z4")
@pytest.mark.parametrize(
    ("layout", "tool", "arguments", "path"),
    [
        ("anime", "search_anime", {"query": "space", "limit": 50}, ["results"]),
        ("judoka", "judokon.search", {"query": "Japan", "topK": 8}, ["results"]),
        ("music", "catalog.search", {"query": "requiem", "limit": 50}, ["tracks", "items"]),
    ],
)
def test_records_are_found_in_every_catalogue_or_in_the_one_that_was_chosen(
    twins: Any, layout: str, tool: str, arguments: dict[str, Any], path: list[str]
) -> None:
    for chosen, wanted in (({}, {layout, OTHER}), ({"catalogue": OTHER}, {OTHER})):
        found = reduce(getitem, path, twins(layout).ask(tool, **arguments, **chosen))
        assert sources(found) == wanted


@pytest.mark.row("A1", "J2")
def test_what_is_counted_and_drawn_is_of_every_catalogue(twins: Any) -> None:
    anime, judoka = twins("anime"), twins("judoka")
    counts, once = (
        {tag["value"]: tag["count"] for one in found["categories"] for tag in one["tags"]}
        for found in (anime.ask("browse_taxonomy"), anime.ask("browse_taxonomy", catalogue="anime"))
    )
    assert counts == {value: 2 * count for value, count in once.items()}
    assert sources(judoka.ask("query_rag", query="judoka")["results"]) <= {"judoka", OTHER}
    drawn = {judoka.ask("judokon.random")["catalogue"] for _ in range(60)}
    assert drawn == {"judoka", OTHER}
    every, one = (
        sum(row["count"] for row in judoka.ask("judokon.listCountries", **chosen)["countries"])
        for chosen in ({}, {"catalogue": "judoka"})
    )
    assert every == 2 * one + 1


@pytest.mark.row("Z4")
def test_pages_of_music_of_several_catalogues_fit_together(twins: Any) -> None:
    music = twins("music")
    both, own, other = (
        music.ask("catalog.search", query="bach", limit=6, **chosen)["tracks"]
        for chosen in ({}, {"catalogue": "music"}, {"catalogue": OTHER})
    )
    assert both["total"] == own["total"] + other["total"]
    pages = [
        music.ask("catalog.search", query="bach", limit=2, offset=start)["tracks"]["items"]
        for start in (0, 2, 4)
    ]
    assert [item for page in pages for item in page] == both["items"]


@pytest.mark.row("A6", "J4", "Z4")
@pytest.mark.parametrize(
    ("layout", "tool", "known", "own"),
    [
        ("anime", "get_anime_details", {"id": "mal-1"}, {"title": "Quokka Days"}),
        ("judoka", "judokon.getById", {"id": "1"}, {"id": "own-1"}),
        (
            "music",
            "catalog.get",
            {"query_type": "artist", "id": "artist-johann-pachelbel"},
            {"query_type": "artist", "id": "Quokka"},
        ),
    ],
)
def test_a_record_that_both_have_is_ambiguous_until_one_is_chosen(
    twins: Any, layout: str, tool: str, known: dict[str, str], own: dict[str, str]
) -> None:
    served = twins(layout)
    told = served.refusal(tool, **known)
    assert f"is in {layout} and other; give one of them as 'catalogue'" in told
    for chosen in ({**known, "catalogue": OTHER}, {**known, "id": f"{OTHER}/{known['id']}"}, own):
        answer = served.ask(tool, **chosen)
        assert answer.get("anime", answer)["catalogue"] == OTHER


def test_what_is_not_asked_for_by_one_id_is_of_one_catalogue_too(twins: Any) -> None:
    anime, judoka, music = map(twins, ("anime", "judoka", "music"))
    assert "is in anime and other" in anime.refusal("get_anime_details", title="Cowboy Bebop")
    compared = judoka.ask("judokon.compare", idA="judoka/1", idB=f"{OTHER}/1")
    assert (compared["a"]["catalogue"], compared["b"]["catalogue"]) == ("judoka", OTHER)
    opponents = judoka.ask("judokon.suggestOpponent", id=f"{OTHER}/1")["opponents"]
    assert sources(opponents) == {OTHER}
    assert "'catalogue' is missing" in music.refusal("catalog.get", query_type="stats")
    assert music.ask("catalog.get", query_type="stats", catalogue=OTHER)["stats"]["artists"] > 0


def test_a_later_page_of_music_is_that_page_where_one_catalogue_fails_during_the_search(
    twins: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_in_other(library: MusicLibrary, params: Any) -> Any:
        if library.catalogue.name == OTHER:
            raise StorageError("the disk is away")
        return find_parts(library, params)

    music = twins("music")
    expected = music.ask("catalog.search", query="bach", limit=3, offset=3, catalogue="music")[
        "tracks"
    ]["items"]
    monkeypatch.setattr("stackroom_catalogues.music.search.find_parts", fail_in_other)
    assert (
        music.ask("catalog.search", query="bach", limit=3, offset=3)["tracks"]["items"] == expected
    )
    assert len(expected) == 3


def test_a_record_that_no_readable_catalogue_has_is_a_storage_error_while_another_cannot_be_read(
    tmp_path: Path,
) -> None:
    app = App(Settings(home=tmp_path))
    judoka = Twins(app, "judoka")
    known = judoka.ask("judokon.search", query="Japan", catalogue="judoka")["results"][0]["id"]
    store = app.library.get_installed(OTHER).folder / "records.sqlite"
    app.open_catalogue(OTHER).shelf.close()
    store.write_bytes(b"not a database, but long enough to look like one" * 100)
    assert judoka.ask("judokon.getById", id=known)["catalogue"] == "judoka"
    answer = judoka.gate.call(LOCAL_USER, "judokon.getById", {"id": "own-1"})
    assert (answer.error_code, "but other cannot be read" in answer.text) == ("storage", True)
    app.close()
