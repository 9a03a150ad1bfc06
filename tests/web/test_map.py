"""The map: all records of a catalogue at their places, in a real browser."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page, Playwright, expect

from support.browsing import Start, Visit, launch, start_visit
from support.processes import ServerProcess

pytestmark = pytest.mark.row("N13")

NARROW_DESK = 800
POINTS = """
([width, height]) => {
  const drawn = document.querySelector(".map-sheet canvas:nth-child(2)");
  const copy = Object.assign(document.createElement("canvas"), {width, height});
  copy.getContext("2d").drawImage(drawn, 0, 0, width, height);
  const bytes = copy.getContext("2d").getImageData(0, 0, width, height).data;
  let coloured = 0;
  for (let at = 3; at < bytes.length; at += 4) coloured += bytes[at] > 0;
  return coloured;
}
"""

NOTE_WORDS = """
window.drawnWords = [];
const {clearRect, fillText} = CanvasRenderingContext2D.prototype;
Object.assign(CanvasRenderingContext2D.prototype, {
  clearRect(...given) { window.drawnWords = []; return clearRect.apply(this, given); },
  fillText(...given) { window.drawnWords.push(given[0]); return fillText.apply(this, given); },
});
"""
"""Keep the words that the map has now."""
IS_BESIDE = """
([first, second]) => {
  const parts = [".bar", ".map-stage", ".drawer"];
  const boxOf = (selector) => document.querySelector(selector)?.getBoundingClientRect();
  const [bar, stage, drawer] = parts.map(boxOf);
  return drawer && stage.top >= bar.bottom && stage[first] <= drawer[second];
}
"""

NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""What was pointed at is named when the map is drawn again."""


@pytest.fixture
def drawn_visit(playwright: Playwright, open_server: ServerProcess) -> Iterator[Visit]:
    """A visit whose Chromium draws with WebGL: slowly without a graphics card, so in a small window
    and once.
    """
    with closing(launch(playwright, has_webgl=True)) as browser:
        visited = start_visit(browser, open_server.url, width=NARROW_DESK)
        yield visited
        assert visited.found_problems() == []


def open_map(visit: Visit, query: str = "") -> Page:
    """Open the map of the anime catalogue, and wait until it is drawn."""
    page = visit.open(f"/c/anime?view=map{query}")
    page.wait_for_selector(".map-stage[data-frames]")
    return page


def test_the_map_is_drawn_with_webgl_where_the_browser_has_it(drawn_visit: Visit) -> None:
    page = open_map(drawn_visit, "&f.tags=sports")
    assert page.get_by_role("application").get_attribute("data-renderer") == "webgl2"
    expect(page.get_by_text("on the map, ")).to_contain_text(" lit")


def test_a_search_lights_what_it_finds_and_a_record_lights_its_neighbours(visit: Start) -> None:
    started = visit()
    page = open_map(started)
    expect(page.get_by_text("records on the map. Near")).to_be_visible()
    expect(page.get_by_role("list", name="Colours by Tags").get_by_role("listitem")).to_have_count(
        9
    )

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
    steps = [
        (box["x"] + box["width"] * (0.35 + 0.02 * one), box["y"] + box["height"] / 2)
        for one in range(16)
    ]
    for place in steps:
        page.mouse.move(*place)
        page.evaluate(NEXT_FRAME)
        if page.locator(".map-tip").count():
            break
    title = tip.inner_text()
    expect(page.locator(".map-tip .face")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".drawer").get_by_role("heading", name=title).first).to_be_visible()


def test_without_webgl_a_plain_canvas_draws_the_same_map_on_a_phone(visit: Start) -> None:
    started = visit(width=390, scheme="dark")
    page = open_map(started, "&f.tags=sports")
    assert page.get_by_role("application").get_attribute("data-renderer") == "canvas"
    expect(page.get_by_text("on the map, ")).to_contain_text(" lit")
    started.wait_until(f"() => ({POINTS})([600, 600]) > 200")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    started.check_access()


def test_a_catalogue_without_vectors_says_why_it_has_no_map(visit: Start) -> None:
    page = visit().open("/c/papers?view=map")
    expect(page.get_by_role("heading", name="There is no map yet")).to_be_visible()


def drag(page: Page, *places: tuple[float, float]) -> None:
    """Drag over the map through these places, in shares of its width and height."""
    stage = page.get_by_role("application")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    first, *others = [
        (box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in places
    ]
    page.mouse.move(*first)
    page.mouse.down()
    for place in others:
        page.mouse.move(*place, steps=5)
    page.mouse.up()


def total_of(page: Page) -> int:
    """Return the number that the page says of its result set, when it is that of its address."""
    for part in (".found", ".facets"):
        expect(page.locator(part)).to_have_attribute("aria-busy", "false")
    return int(page.locator("p.count").inner_text().split()[0].replace(",", ""))


@pytest.mark.parametrize(
    ("tool", "places"),
    [
        ("Choose a box", [(0.3, 0.2), (0.6, 0.7)]),
        (
            "Choose freely",
            [(0.3, 0.2), (0.6, 0.2), (0.6, 0.7), (0.45, 0.45), (0.3, 0.7), (0.3, 0.25)],
        ),
    ],
)
def test_a_chosen_area_is_one_result_set_in_every_view_and_in_its_export(
    visit: Start, tool: str, places: list[tuple[float, float]]
) -> None:
    started = visit()
    page = open_map(started)
    every = total_of(page)
    page.get_by_role("button", name=tool).click()
    drag(page, *places)
    expect(page.get_by_role("list", name="Conditions")).to_contain_text("An area of the map")
    total = total_of(page)
    assert 0 < total < every
    expect(page.get_by_text("on the map, ")).to_contain_text(f"{total} lit")
    assert "area=" in page.url
    types = (
        page.locator("fieldset")
        .filter(has=page.get_by_text("Type", exact=True))
        .locator(".value-count")
    )
    assert sum(int(one.replace(",", "")) for one in types.all_inner_texts()) == total
    page.get_by_text("Export").click()
    saved = page.get_by_role("link", name="JSON", exact=True).get_attribute("href")
    assert len(page.request.get(f"{started.origin}{saved}").json()) == total
    page.get_by_text("Export").click()  # closed again: its menu lies over the legend
    if tool == "Choose a box":  # the other has the same view
        started.check_access()
    page.get_by_role("link", name="List").click()
    assert total_of(page) == total
    page.reload()
    assert total_of(page) == total
    page.get_by_role("button", name="Remove An area of the map").click()
    assert total_of(page) == every


def test_the_legend_filters_by_a_value_and_leaves_it_out(visit: Start) -> None:
    page = open_map(visit())
    legend = page.get_by_role("list", name="Colours by Tags")
    entry = legend.get_by_role("listitem").first
    value, count = entry.inner_text().strip(), int((entry.get_attribute("title") or "").split()[0])
    every = total_of(page)
    entry.get_by_role("button", name=value, exact=True).click()
    page.wait_for_url(f"**f.tags={value}**")
    assert total_of(page) == count
    entry.get_by_role("button", name=f"Leave out {value}").click()
    page.wait_for_url(f"**x.tags={value}**")
    assert "f.tags" not in page.url
    assert total_of(page) == every - count
    entry.get_by_role("button", name=f"Leave out {value}").click()
    page.get_by_label("Colour by").select_option("year")
    years = page.get_by_role("list", name="Colours by Year").get_by_role("listitem").first
    count = int((years.get_attribute("title") or "").split()[0])
    years.get_by_role("button").click()
    page.wait_for_url("**r.year=**")
    assert total_of(page) == count


def test_colour_place_and_zoom_are_in_the_address(visit: Start) -> None:
    page = open_map(visit())
    page.get_by_label("Colour by").select_option("year")
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**at=0_0_4.096**")
    seen = page.get_by_text("in sight").inner_text()
    page.reload()
    page.wait_for_selector(".map-stage[data-frames]")
    expect(page.get_by_role("list", name="Colours by Year")).to_be_visible()
    expect(page.get_by_text("in sight")).to_have_text(seen)
    page.get_by_role("button", name="Show the whole map").click()
    page.wait_for_url(lambda url: "at=" not in url)


def test_an_open_record_stands_beside_the_map_on_a_desk(visit: Start) -> None:
    started = visit()
    open_map(started).get_by_role("application").press("Enter")
    started.wait_until(IS_BESIDE, ["right", "left"])


@pytest.mark.parametrize("last", ["similar", "fetch"])
def test_an_open_record_stands_below_the_map_on_a_phone_whatever_comes_last(
    visit: Start, last: str
) -> None:
    started = visit(width=390)
    page = open_map(started)
    with started.late(f"**/v1/tools/{last}") as count_held:
        page.get_by_role("application").press("Enter")
        assert count_held() == 1
        lit = page.get_by_text("nearest in meaning to the open one are lit")
        expect(lit if last == "fetch" else page.locator(".drawer .drawer-body")).to_be_attached()
    expect(lit).to_be_attached()
    started.wait_until(IS_BESIDE, ["bottom", "top"])
    read = page.evaluate(
        "scrollTo(0, 0), document.querySelector('main canvas').getBoundingClientRect().height"
    )
    page.set_viewport_size({"width": 390, "height": page.viewport_size["height"] - 60})
    started.wait_until(
        f"() => document.querySelector('main canvas').getBoundingClientRect().height !== {read}"
    )
    assert page.evaluate("scrollY") == 0, (
        "a bar of the browser takes nobody away from what they read"
    )


def test_points_have_titles_where_few_are_in_sight_and_shading_where_many_are(visit: Start) -> None:
    started = visit(script=NOTE_WORDS)
    page = open_map(started)
    started.wait_until(
        f"() => ({POINTS.replace('nth-child(2)', 'first-child')})([600, 600]) > 1000"
    )
    started.wait_until("() => window.drawnWords.length > 0")
    labels = page.evaluate("window.drawnWords")
    for _ in range(6):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**at=0_0_16.7772**")
    sight = page.get_by_text("in sight")
    expect(sight).to_have_text(re.compile("^[1-5]?[0-9] records in sight"))
    sight.click()
    listed = page.get_by_role("list", name="In sight").get_by_role("link")
    expect(listed.first).to_be_visible()
    titles = listed.all_inner_texts()
    assert not {*titles} & {*labels}
    started.wait_until("(titles) => titles.some((one) => window.drawnWords.includes(one))", titles)


MANY = """
const answer = (count) => {
  const points = new Int16Array(2 * count).map(() => 40000 * (Math.random() - .5));
  const places = new Uint8Array(points.buffer);
  let text = "";
  for (let at = 0; at < places.length; at += 8192)
    text += String.fromCharCode(...places.subarray(at, at + 8192));
  return {catalogue: "anime", state: "ready", count, unplaced: 0, labels: [], colours: [],
    colour: null, titles: [],
    ids: Array.from({length: count}, (_, one) => `p${one}`), places: btoa(text)};
};
const ask = window.fetch;
const made = () => Promise.resolve(Response.json(answer(70000)));
window.fetch = (path, ...rest) => (String(path).endsWith("/map") ? made() : ask(path, ...rest));
"""


def test_of_very_many_points_the_processor_draws_a_sample_and_the_page_says_so(
    visit: Start,
) -> None:
    page = open_map(visit(script=MANY))
    expect(page.get_by_text("70,000 records on the map")).to_contain_text(
        "without a graphics card, 23,334 of them"
    )
