"""Faces in a real browser: pictures of one's own, drawn covers, the gallery, and what a first
visitor reads.
"""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest
from mcp import Client
from mcp.client import advertise
from playwright.sync_api import Locator, Page, expect

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.serve.hits_view import EXTENSION, MIME_TYPE
from stackroom.settings import Settings
from support.browsing import Start
from support.processes import ServerProcess
from support.view_host import Assistant

pytestmark = pytest.mark.row("Z16")
image_module = pytest.importorskip("PIL.Image")

PICTURED = 3
SPEC = """\
name = "plants"
title = "Wild plants"
summary = "Plants of meadow and wood."
id = "name"
telling = ["state", "walk_seconds", "author_names"]
[fields.name]
type = "text"
role = "title"
search = true
[fields.photo]
type = "text"
role = "picture"
[fields.state]
type = "enum"
values = ["FOUND", "NOT_YET_FOUND", "UNKNOWN", "TV", "POISONOUS"]
filter = "any-of"
facet = true
[fields.walk_seconds]
type = "int"
filter = "range"
[fields.author_names]
type = "text"
filter = "equals"
facet = true
[fields.publish_year]
type = "int"
role = "time"
filter = "range"
[adult]
state = ["POISONOUS"]
"""
ROWS = [
    ("Rose", "pics/0.png", "FOUND", 7800, "Linnaeus", 1753),
    ("Oak", "pics/1.png", "NOT_YET_FOUND", 200, "Miller", 1768),
    ("Thistle", "pics/2.png", "UNKNOWN", 45, "Linnaeus", 1754),
    ("Nettle", "../secret.png", "TV", 3600, "Miller", 1800),
    ("Fern", "", "FOUND", 60, "Miller", 1801),
    ("Belladonna", "", "POISONOUS", 60, "Miller", 1802),
]
LISTED = len(ROWS) - 1


@pytest.fixture(scope="module")
def plants_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a catalogue of plants, three of which have a picture beside their table."""
    folder = tmp_path_factory.mktemp("plants")
    (folder / "table" / "pics").mkdir(parents=True)
    for number, colour in enumerate(("crimson", "seagreen", "royalblue")):
        image_module.new("RGB", (900, 1200), colour).save(
            folder / "table" / "pics" / f"{number}.png"
        )
    image_module.new("RGB", (9, 9), "black").save(folder / "secret.png")
    names = ("name", "photo", "state", "walk_seconds", "author_names", "publish_year")
    loaded = LoadedSpec(spec=compile_text(SPEC, origin="plants"), declaration=SPEC)
    app = App(Settings(home=folder / "home"))
    recipe = own_recipe(loaded)
    for name, rows in (("plants", ROWS), ("herbarium", ROWS[::-1])):
        table = folder / "table" / f"{name}.jsonl"
        table.write_text(
            "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
        )
        add_catalogue(
            app,
            open_rows(None, str(table)),
            recipe=recipe,
            name=name,
            progress=lambda _report: None,
            embed=False,
        )
    app.close()
    return folder / "home"


@pytest.fixture(scope="module")
def plants(plants_home: Path, start_server: Callable[..., ServerProcess]) -> ServerProcess:
    return start_server(plants_home, "--no-accounts")


def widths(pictures: Locator) -> list[int]:
    """Return the widths of pictures, those that could not be loaded as 0."""
    found: list[int] = pictures.evaluate_all(
        "(images) => Promise.all(images.map((one) => one.decode().then(() => one.naturalWidth, ()"
        " => 0)))"
    )
    return found


def loaded(page: Page, place: str, count: int) -> None:
    """Require that so many pictures are shown at a place, and that all of them are loaded."""
    pictures = page.locator(f"{place} img.face")
    expect(pictures).to_have_count(count)
    assert widths(pictures) == [900] * count


def test_pictures_of_ones_own_are_faces_in_every_view_and_others_have_drawn_covers(
    visit: Start, plants: ServerProcess
) -> None:
    one = visit(plants.url)
    page = one.open("/c/plants")
    loaded(page, ".hits", PICTURED)
    expect(page.locator(".hits svg.face")).to_have_count(LISTED - PICTURED)
    page.get_by_role("navigation", name="View").get_by_role("link", name="Gallery").click()
    expect(page).to_have_url(re.compile(r"/c/plants\?view=gallery$"))
    loaded(page, ".gallery", PICTURED)
    expect(page.locator(".gallery svg.face")).to_have_count(LISTED - PICTURED)
    one.check_access()
    page.get_by_role("link", name="Rose").click()
    loaded(page, ".record-head", 1)
    expect(page.locator(".record")).not_to_contain_text("pics/0.png")
    page.goto(f"{plants.url}/c/plants?view=table")
    loaded(page, "table", PICTURED)


def test_covers_tell_catalogues_apart_and_stay_the_same(
    visit: Start, plants: ServerProcess
) -> None:
    def drawn(path: str) -> list[str]:
        page = visit(plants.url).open(path)
        expect(page.locator(".gallery svg.face").first).to_be_visible()
        found: list[str] = page.locator(".gallery svg.face").evaluate_all(
            "(all) => all.map((one) => one.innerHTML)"
        )
        return found

    first, other = drawn("/c/plants?view=gallery"), drawn("/c/herbarium?view=gallery")
    assert drawn("/c/plants?view=gallery") == first
    assert not set(first) & set(other)


def test_a_picture_is_kept_for_ever_by_its_version_and_nothing_else_is_served(
    plants: ServerProcess,
) -> None:
    with httpx.Client(base_url=plants.url) as client:
        asked = {"query": "*", "catalogue": "plants", "include": ["tiles"], "limit": 9}
        results = client.post("/v1/tools/search", json=asked).json()["results"]
        images = {one["title"]: one["tile"]["image"] for one in results}
        assert [name for name, image in images.items() if image] == ["Rose", "Oak", "Thistle"]
        reply = client.get(images["Rose"])
        assert (reply.headers["content-type"], reply.headers["cache-control"]) == (
            "image/png",
            "private, max-age=31536000, immutable",
        )
        assert (
            client.get(images["Rose"], headers={"If-None-Match": reply.headers["etag"]}).status_code
            == 304
        )
        assert (
            client.get("/v1/media/plants/cover/Rose").headers["cache-control"]
            == "private, no-cache"
        )
        assert client.get("/v1/media/plants/cover/Nettle").status_code == 404


def test_fields_and_values_are_in_words_and_what_says_nothing_is_left_out(
    visit: Start, plants: ServerProcess
) -> None:
    page = visit(plants.url).open("/c/plants")
    cards = page.locator(".hits > li")
    expect(cards.filter(has_text="Rose")).to_contain_text("State Found")
    expect(cards.filter(has_text="Rose")).to_contain_text("Walk 2 h 10 min")
    expect(cards.filter(has_text="Oak")).to_contain_text("Not yet found")
    expect(cards.filter(has_text="Oak")).to_contain_text("Authors Miller")
    expect(cards.filter(has_text="Thistle")).not_to_contain_text(
        re.compile("unknown", re.IGNORECASE)
    )
    expect(cards.filter(has_text="Nettle")).to_contain_text("State TV")
    filters = page.get_by_role("complementary", name="Filters")
    for legend in ("Year", "Walk", "Authors", "State"):
        expect(filters.get_by_role("group", name=legend, exact=True)).to_be_visible()
    expect(filters).to_contain_text("45 s")
    expect(filters).to_contain_text("2 h 10 min")
    filters.get_by_role("checkbox", name=re.compile("^Not yet found")).check()
    expect(page.get_by_role("list", name="Conditions")).to_contain_text("State: Not yet found")
    expect(page).to_have_url(re.compile("f.state=NOT_YET_FOUND"))
    expect(cards).to_have_count(1)


def test_adult_records_that_are_left_out_are_said_and_shown_by_a_press(
    visit: Start, plants: ServerProcess
) -> None:
    page = visit(plants.url).open("/c/plants")
    expect(page.locator(".hits > li")).to_have_count(LISTED)
    expect(page.get_by_text("1 adult record left out")).to_be_visible()
    page.get_by_role("button", name="Show it").click()
    expect(page.locator(".hits > li")).to_have_count(len(ROWS))
    page.get_by_role("button", name="Remove Adult records too").click()
    expect(page.locator(".hits > li")).to_have_count(LISTED)


def test_home_shows_faces_what_is_new_and_where_one_left_off(
    visit: Start, plants: ServerProcess
) -> None:
    one = visit(plants.url)
    page = one.open("/")
    card = page.locator(".catalogue").filter(has_text="herbarium")
    loaded(page, ".catalogue:has-text('herbarium')", PICTURED)
    expect(card.get_by_role("heading")).to_have_text("Wild plants herbarium")
    summaries = page.locator(".catalogue .about").all_text_contents()
    assert summaries == ["With Nettle, Thistle, Oak.", "With Rose, Oak, Thistle."]
    page.goto(f"{plants.url}/c/herbarium?q=oak&view=table")
    expect(page.get_by_role("heading", level=1)).to_have_text("Wild plants herbarium")
    expect(page.get_by_role("link", name="Oak")).to_be_visible()
    page.evaluate(
        """() => {
          const kept = JSON.parse(localStorage.visits);
          kept.catalogues.herbarium.records -= 2;
          localStorage.visits = JSON.stringify(kept);
        }"""
    )
    page.goto(f"{plants.url}/")
    expect(card).to_contain_text("2 new since you were here")
    one.check_access()
    card.get_by_role("link", name="“oak”").click()
    expect(page).to_have_url(re.compile(r"/c/herbarium\?q=oak&view=table$"))


def call_as_assistant(server: ServerProcess, arguments: dict[str, Any]) -> dict[str, Any]:
    """Search as a client that shows views, in a thread without the browser's event loop."""

    async def call() -> dict[str, Any]:
        shows = advertise(EXTENSION, {"mimeTypes": [MIME_TYPE]})
        async with Client(f"{server.url}/mcp", extensions=[shows]) as client:
            result = await client.call_tool("search", arguments)
            return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, call).result()


def test_an_assistant_is_shown_the_same_faces_and_words(
    visit: Start, plants: ServerProcess
) -> None:
    assistant = Assistant(visit(plants.url), plants)
    assistant.show()
    result = call_as_assistant(plants, {"query": "*", "catalogue": "plants", "limit": 5})
    assistant.post("ui/notifications/tool-result", result)
    cards = assistant.view.locator("article.hit")
    expect(cards).to_have_count(5)
    pictures = assistant.view.locator("img.face")
    expect(pictures).to_have_count(PICTURED)
    assert widths(pictures) == [900] * PICTURED
    expect(cards.filter(has_text="Oak")).to_contain_text("State Not yet found")
    assert "data:" not in json.dumps(result["structuredContent"])


def test_records_that_a_tool_finds_have_their_faces_and_words(
    visit: Start, plants: ServerProcess
) -> None:
    """The chat shows what its tools find by the same component."""
    asked = quote(json.dumps({"query": "*", "catalogue": "plants"}))
    page = visit(plants.url).open(f"/tools/search?a={asked}")
    loaded(page, ".result", PICTURED)
    expect(page.locator(".result .hit").filter(has_text="Oak")).to_contain_text(
        "State Not yet found"
    )


def test_what_is_liked_has_a_face(visit: Start) -> None:
    one = visit()
    liked = one.call("search", query="*", catalogue="anime", limit=1)["results"][0]["id"].partition(
        "/"
    )[2]
    page = one.open(f"/taste/anime?like={quote(liked)}")
    expect(page.locator(".kept .face")).to_have_count(1)
    expect(page.locator(".hits .face").first).to_be_visible()
    one.check_access()


def test_the_account_says_in_words_what_one_may_do(
    visit: Start, shared_server: ServerProcess
) -> None:
    one = visit(shared_server.url)
    one.enter()
    page = one.open("/account")
    facts = page.locator(".facts")
    expect(facts).to_contain_text("Search and read catalogues, Edit records")
    expect(facts).not_to_contain_text("AccessCatalog")
