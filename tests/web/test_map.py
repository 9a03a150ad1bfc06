"""The map: all records of a catalogue at their places, in a real browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from support.browsing import Visit, launch

pytestmark = pytest.mark.row("N13")

Start = Callable[..., Visit]
NO_WEBGL = """
const getContext = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "webgl2" ? null : getContext.call(this, kind, ...rest);
};
"""
POINTS = """
([width, height]) => {
  const drawn = document.querySelector(".map-sheet canvas");
  const copy = Object.assign(document.createElement("canvas"), {width, height});
  copy.getContext("2d").drawImage(drawn, 0, 0, width, height);
  const bytes = copy.getContext("2d").getImageData(0, 0, width, height).data;
  let coloured = 0;
  for (let at = 3; at < bytes.length; at += 4) coloured += bytes[at] > 0;
  return coloured;
}
"""

NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""What was pointed at is named when the map is drawn again."""


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A Chromium that draws with WebGL."""
    started = launch(playwright, has_webgl=True)
    yield started
    started.close()


def open_map(visit: Visit, query: str = "") -> Page:
    """Open the map of the anime catalogue, and wait until it is drawn."""
    page = visit.open(f"/c/anime?view=map{query}")
    page.wait_for_selector(".map-stage[data-frames]")
    return page


def test_a_search_lights_what_it_finds_and_a_record_lights_its_neighbours(visit: Start) -> None:
    started = visit()
    page = open_map(started)
    stage = page.get_by_role("application")
    assert stage.get_attribute("data-renderer") == "webgl2"
    expect(page.get_by_text("records on the map. Near")).to_be_visible()
    expect(page.get_by_role("list", name="Colours by Tags").get_by_role("listitem")).to_have_count(8)

    page.get_by_role("searchbox").fill("giant robots in space")
    expect(page.get_by_text("on the map, ")).to_contain_text(" lit")
    page.get_by_text("in sight").click()
    seen = page.get_by_role("list", name="In sight")
    first = seen.get_by_role("link").first
    title = first.inner_text()
    first.click()
    expect(page.locator(".drawer").get_by_role("heading", name=title).first).to_be_visible()
    expect(page.get_by_text("nearest in meaning to the open one are lit")).to_be_visible()
    assert "view=map" in page.url
    page.keyboard.press("Escape")
    expect(page.get_by_text("on the map, ")).to_contain_text(" lit")

    page.get_by_label("Colour by").select_option("year")
    expect(page.get_by_role("list", name="Colours by Year").get_by_role("listitem").first).to_contain_text("–")
    started.check_access()


def test_the_map_is_used_with_the_keyboard_alone(visit: Start) -> None:
    page = open_map(visit())
    stage = page.get_by_role("application")
    whole = page.get_by_text("records in sight").inner_text()
    stage.focus()
    for key in ("+", "+", "+", "+", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.get_by_text("in sight")).not_to_have_text(whole)
    page.keyboard.press("0")
    expect(page.get_by_text("in sight")).to_have_text(whole)
    page.keyboard.press("Enter")
    expect(page.locator(".drawer")).to_be_visible()
    assert "open=anime%2F" in page.url


def test_a_point_is_named_when_it_is_pointed_at_and_opened_by_a_click(visit: Start) -> None:
    page = open_map(visit(scheme="dark"))
    stage = page.get_by_role("application")
    page.get_by_role("button", name="Zoom in").click()
    box = stage.bounding_box()
    assert box is not None
    tip = page.locator(".map-tip b")
    steps = [(box["x"] + box["width"] * (0.35 + 0.02 * one), box["y"] + box["height"] / 2) for one in range(16)]
    for place in steps:
        page.mouse.move(*place)
        page.evaluate(NEXT_FRAME)
        if page.locator(".map-tip").count():
            break
    title = tip.inner_text()
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".drawer").get_by_role("heading", name=title).first).to_be_visible()


def test_without_webgl_a_plain_canvas_draws_the_same_map_on_a_phone(visit: Start) -> None:
    started = visit(width=390, scheme="dark")
    started.page.add_init_script(NO_WEBGL)
    page = open_map(started, "&f.tags=sports")
    assert page.get_by_role("application").get_attribute("data-renderer") == "canvas"
    expect(page.get_by_text("on the map, ")).to_contain_text(" lit")
    assert page.evaluate(POINTS, [600, 600]) > 200
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    started.check_access()


def test_a_catalogue_without_vectors_says_why_it_has_no_map(visit: Start) -> None:
    page = visit().open("/c/papers?view=map")
    expect(page.get_by_role("heading", name="There is no map yet")).to_be_visible()
