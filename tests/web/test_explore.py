"""Home, search and explore in a real browser: one result set, whose address holds all of it."""

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.browsing import Start

pytestmark = pytest.mark.row("Z16")

SENTENCE = "space adventure after 1990, not horror"
TYPE_SLOWLY = """async (text) => {
  for (const letter of text) {
    document.activeElement.value += letter;
    document.activeElement.dispatchEvent(new InputEvent("input", {bubbles: true}));
    const until = performance.now() + 90;
    while (performance.now() < until);
    await new Promise((done) => {
      const {port1, port2} = new MessageChannel();
      port1.onmessage = done;
      port2.postMessage(null);
    });
  }
}"""
"""Type on a machine that is so slow that the page draws nothing between two letters."""


def box(page: Page) -> Any:
    return page.get_by_role("searchbox").first


def titles(page: Page) -> list[str]:
    return page.locator(".hits .hit-title").all_text_contents()


def test_home_shows_the_catalogues_and_finds_what_any_of_them_has(visit: Start) -> None:
    one = visit()
    page = one.open("/")
    cards = page.locator(".catalogue")
    expect(
        cards.filter(has_text="Anime").get_by_text(re.compile(r"^\d+ records, changed "))
    ).to_be_visible()
    for title in ("Company handbook", "Personal notes", "D&D rules dnd"):
        expect(cards.get_by_role("link", name=title, exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile("Query RAG|search_anime"))).to_have_count(0)
    box(page).press_sequentially("blues")
    expect(page.locator(".hits").get_by_role("link", name="Crazy Blues").first).to_be_visible()
    expect(
        page.get_by_role("status").filter(
            has_text=re.compile(r"\d+ good matches in \d+ catalogues")
        )
    ).to_be_visible()
    expect(box(page)).to_be_focused()
    assert page.url.endswith("/search?q=blues")
    one.check_access()
    page.get_by_role("list", name="Catalogues with good matches").get_by_role(
        "link", name="Music"
    ).click()
    expect(page.get_by_role("heading", name="Music", exact=True)).to_be_visible()
    expect(page.locator(".hits").get_by_role("link", name="Crazy Blues").first).to_be_visible()
    page.go_back()
    expect(box(page)).to_have_value("blues")
    page.go_back()
    expect(cards.first).to_be_visible()


def test_nonsense_is_said_to_be_answered_by_nothing_and_a_misspelt_title_is_found(
    visit: Start,
) -> None:
    page = visit().open("/search?q=qwxzv blorp")
    expect(page.get_by_role("heading", name="Nothing here answers this")).to_be_visible()
    expect(page.locator(".hit").first).not_to_be_visible()
    page.get_by_text("nearest records, no good match").click()
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator(".hits").get_by_text(re.compile("match$"))).to_have_count(0)
    box(page).fill("fulmetal alchemst")
    first = page.locator(".hits > li").first
    expect(first).to_contain_text("Fullmetal Alchemist")
    expect(first).to_contain_text("Very good match")


def test_a_sentence_becomes_chips_and_every_step_is_an_address(visit: Start) -> None:
    one = visit()
    page = one.open("/c/anime")
    count = page.locator(".count")
    expect(count).to_have_text("305 records")
    box(page).focus()
    page.evaluate(TYPE_SLOWLY, "space adventure")
    box(page).press_sequentially(SENTENCE.removeprefix("space adventure"))
    expect(box(page)).to_have_value(SENTENCE)
    chips = page.get_by_role("list", name="Conditions")
    expect(chips.get_by_role("listitem")).to_have_text(["Year ≥ 1991", "not horror"])
    expect(count).to_have_text(re.compile(r"\d+ good matches of the 99 nearest"))
    page.get_by_role("button", name="Remove Year ≥ 1991").click()
    expect(chips.get_by_role("listitem")).to_have_text(["not horror"])
    expect(page.get_by_role("button", name="Remove not horror")).to_be_focused()
    assert "u=after+1990" in page.url
    tags = page.get_by_role("group", name="Tags")
    tags.get_by_role("checkbox", name=re.compile("^drama")).check()
    expect(chips.get_by_role("listitem").filter(has_text="Tags: drama")).to_be_visible()
    expect(tags.get_by_role("checkbox", name=re.compile("^drama"))).to_be_checked()
    year = page.get_by_role("slider", name="Year, from")
    expect(year).to_be_visible()
    year.press("ArrowRight")
    expect(chips.get_by_role("listitem").filter(has_text="Year ≥")).to_be_visible()
    # The answer to the last step has come, so that the next one is that of the new document.
    expect(page.get_by_role("complementary", name="Filters")).to_have_attribute(
        "aria-busy", "false"
    )
    narrowed, address = titles(page), page.url
    with page.expect_response(
        lambda reply: '"counts"' in (reply.request.post_data or "")
    ) as searched:
        page.reload()
    assert page.url == address
    assert [one["title"] for one in searched.value.json()["results"]][: len(narrowed)] == narrowed
    expect(page.locator(".hits .hit-title").first).to_have_text(narrowed[0])
    assert titles(page) == narrowed
    page.go_back()
    expect(chips.get_by_role("listitem").filter(has_text="Year ≥")).to_have_count(0)
    expect(page.get_by_role("complementary", name="Filters")).to_have_attribute(
        "aria-busy", "false"
    )
    tags.get_by_role("button", name="Leave out", disabled=False).nth(1).click()
    expect(chips.get_by_role("listitem").filter(has_text=re.compile("^not "))).to_have_count(2)
    page.get_by_role("button", name="Clear all").click()
    expect(page.get_by_text("Tags: drama")).to_have_count(0)
    page.get_by_text("As your assistant asks it").click()
    expect(page.get_by_label("the call", exact=True)).to_contain_text('"catalogue": "anime"')
    one.check_access()


def test_an_older_answer_never_replaces_a_newer_one(visit: Start) -> None:
    one = visit()
    page = one.open("/c/anime")
    expect(page.locator(".hit").first).to_be_visible()
    with one.late("**/v1/tools/search", asking='"robots"') as wait_asked:
        box(page).fill("robots")
        wait_asked()
        expect(page.locator(".found")).to_have_attribute("aria-busy", "true")
        box(page).fill("cooking")
        expect(page.locator(".hit-title").first).to_have_text("Shokugeki no Souma")
    expect(page.locator(".found")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".hit-title").first).to_have_text("Shokugeki no Souma")


def test_the_columns_of_a_table_are_chosen_and_kept_in_the_address(visit: Start) -> None:
    started = visit()
    page = started.open("/c/anime?view=table")
    head = page.get_by_role("columnheader", name="Episodes")
    expect(head).to_be_visible()
    page.get_by_text("Columns", exact=True).click()
    started.check_access()
    page.get_by_role("checkbox", name="Episodes").uncheck()
    expect(head).to_be_hidden()
    page.reload()
    expect(page.get_by_role("columnheader", name="Year")).to_be_visible()
    expect(head).to_be_hidden()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_role("checkbox", name="Episodes").check()
    expect(head).to_be_visible()
    assert "hide=" not in page.url


def test_a_table_is_sorted_by_its_columns(visit: Start) -> None:
    one = visit(scheme="dark")
    page = one.open("/c/anime")
    page.get_by_role("navigation", name="View").get_by_role("link", name="Table").click()
    page.get_by_role("button", name="Year").click()
    expect(page.get_by_role("columnheader", name="Year")).to_have_attribute(
        "aria-sort", "descending"
    )
    expect(page.locator("tbody tr").first).to_contain_text("2024")
    page.get_by_role("button", name="Year").click()
    expect(page.locator("tbody tr").first).to_contain_text("1963")
    assert "sort=year" in page.url
    with one.late("**/v1/tools/search", asking='"cursor"') as count_asked:
        page.get_by_role("button", name="Show more", exact=True).click()
        assert count_asked() == 1
        expect(page.get_by_role("button", name="Show more", exact=True)).to_be_disabled()
    expect(page.locator("tbody tr")).to_have_count(48)
    one.check_access()


def test_a_phone_filters_and_the_keyboard_alone_is_enough(visit: Start) -> None:
    one = visit(width=390, scheme="dark")
    page = one.open("/c/anime?q=space")
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("checkbox", name=re.compile("^Movie")).check()
    expect(page.get_by_role("listitem").filter(has_text="Type: Movie")).to_be_visible()
    one.check_access()
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.set_viewport_size({"width": 1440, "height": 900})
    page.keyboard.press("Tab")
    page.keyboard.press("/")
    expect(box(page)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    second = page.locator(".hit-title a").nth(1)
    expect(second).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator(".hit-title a").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("aside.drawer")).to_be_focused()
    assert "open=anime%2F" in page.url
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("open="))


def test_what_is_wrong_with_an_address_is_said(visit: Start) -> None:
    page = visit(allowed=("400", "404")).open("/c/anime?f.yaer=2015")
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'year'")
    page.goto(page.url.replace("/c/anime?f.yaer=2015", "/c/anmie"))
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'anime'")
    page.goto(page.url.replace("/c/anmie", "/c/%E0%A4%A"))
    expect(page.get_by_role("alert")).to_be_visible()
    page.evaluate(
        "main.append(Object.assign(document.createElement('a'), {href: '/c/anime/mal-1',"
        " textContent: 'Bebop'}))"
    )
    page.get_by_role("link", name="Bebop", exact=True).click()
    expect(page.locator(".drawer.record h2")).to_have_text("Cowboy Bebop")
    assert page.url.endswith("/c/anime?open=anime%2Fmal-1")


def test_a_page_that_the_server_no_longer_has_asks_to_be_loaded_again(visit: Start) -> None:
    page = visit(allowed=("404", "dynamically imported module")).open("/c/anime")
    expect(page.get_by_role("button", name=re.compile("^Like ")).first).to_be_visible()
    gone = re.compile(r"/views/(map/map|record/record|taste/store)\.js")
    page.route(gone, lambda route: route.fulfill(status=404))
    told = page.get_by_text("This page was updated; reload it.")
    page.get_by_role("button", name=re.compile("^Like ")).first.click()
    expect(page.locator(".toast", has=told).get_by_role("button", name="Reload")).to_be_visible()
    page.locator(".hit-title a").first.click()
    expect(page.get_by_role("alert").filter(has=told)).to_be_visible()
    page.get_by_role("navigation", name="View").get_by_role("link", name="Map").click()
    expect(page.locator("main").get_by_role("alert")).to_have_text(
        re.compile("^This page was updated; reload it.")
    )
    page.unroute(gone)
    page.locator("main").get_by_role("button", name="Reload").click()
    expect(page.locator("main canvas").first).to_be_visible()


def test_a_list_is_sorted_by_choice_and_exported_as_a_file(visit: Start) -> None:
    one = visit()
    page = one.open("/c/anime")
    expect(page.locator(".hit").first).to_be_visible()
    expect(page.locator(".hits").get_by_text(re.compile("match$"))).to_have_count(0)
    page.get_by_label("Sort").select_option("Year, latest first")
    expect(page).to_have_url(re.compile(r"sort=-year"))
    expect(page.locator(".hit-line").first).to_contain_text("2024")
    page.get_by_text("Export").click()
    one.check_access()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert download.value.suggested_filename == "anime.csv"
    assert len(rows) == 305
    assert [row["title"] for row in rows[:24]] == titles(page)
    page.get_by_text("Export").click()
    page.get_by_label("What to export").select_option("Counts by Type")
    with page.expect_download() as counted:
        page.get_by_role("link", name="CSV").click()
    counts = list(csv.DictReader(io.StringIO(Path(counted.value.path()).read_text())))
    facet = page.get_by_role("group", name="Type").locator(".value-count")
    assert [row["count"] for row in counts][: facet.count()] == facet.all_text_contents()
    page.reload()
    expect(page.get_by_label("Sort")).to_have_value("-year")


def test_results_stay_while_the_server_is_away_and_come_anew_by_themselves(visit: Start) -> None:
    page = visit(allowed=("ERR_FAILED",)).open("/c/anime")
    expect(page.locator(".hit").first).to_be_visible()
    page.route("**/v1/tools/search", lambda route: route.abort())
    box(page).fill("robots")
    expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
    expect(page.locator(".former .hit").first).to_be_visible()
    page.unroute("**/v1/tools/search")
    expect(page.get_by_text("The server cannot be reached.")).to_have_count(0)
    expect(page.locator(".count")).to_contain_text("good match")
