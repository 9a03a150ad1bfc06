"""A form for every tool, made from its schema: what is typed is checked, and what comes back is
shown as things.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect

from support.browsing import Start
from support.libraries import copy_samples
from support.one_operation import PROGRAM
from support.processes import ServerProcess


def test_a_tool_is_found_filled_in_and_run_with_the_keyboard_alone(visit: Start) -> None:
    here = visit()
    page = here.open("/tools")
    expect(page.get_by_role("link", name="Search anime")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("search anime")
    expect(page.get_by_role("status").filter(has_text="1 tool")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Query")).to_be_visible()
    page.get_by_label("Query").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Query")).to_be_focused()  # it is needed, and says so
    expect(page.get_by_text("This is required.")).to_be_visible()
    page.keyboard.type("space pirates")
    page.keyboard.press("Tab")
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Must be a whole number, not “many”")).to_be_visible()
    expect(page.get_by_label("Limit")).to_be_focused()
    page.get_by_label("Limit").fill("3")
    page.get_by_label("Year min").fill("1990")
    page.get_by_label("MOVIE").check()
    page.keyboard.press("Tab")
    page.get_by_label("Query").press("Enter")
    expect(page.get_by_role("list", name="Results").get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_text(re.compile(r"Answered in \d+ ms"))).to_be_visible()
    page.get_by_text("As your assistant asks it").click()
    call = json.loads(page.get_by_label("the call", exact=True).inner_text())
    wanted = {"query": "space pirates", "limit": 3, "filters": {"type": ["MOVIE"], "yearMin": 1990}}
    assert call == {"name": "search_anime", "arguments": wanted}
    here.check_access()
    page.reload()  # the address has the arguments
    expect(page.get_by_role("list", name="Results").get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_label("Year min")).to_have_value("1990")
    with here.late("**/v1/tools/search_anime") as wait_asked:
        page.get_by_role("button", name="Run").click()
        wait_asked()
        page.get_by_role("main").get_by_role("link", name="Tools").click()
        expect(page.get_by_label("Find a tool")).to_be_visible()
    expect(page).to_have_url(f"{here.origin}/tools")  # the late answer concerns another page


def test_what_the_server_refuses_is_said_at_the_field_that_it_names(visit: Start) -> None:
    here = visit(allowed=("400", "404"))
    page = here.open("/tools/search")
    page.get_by_label("Query").fill("dragons")
    page.get_by_label("Filters").fill("{year: 3}")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("Not valid JSON")).to_be_visible()
    page.get_by_label("Filters").fill('{"year": {"min": "soon"}}')
    page.get_by_role("button", name="Run").click()
    expect(page.locator("[aria-invalid=true], .notice.bad")).to_be_visible()
    page.get_by_label("Filters").fill("")
    page.get_by_label("Max tokens").fill("1")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_label("Max tokens")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Max tokens")).to_be_focused()
    page = here.open(
        f"/tools/search?a={quote(json.dumps({'query': 'dragons', 'catalogue': 'nowhere'}))}"
    )
    expect(page.get_by_role("region", name="Answer").get_by_role("alert")).to_contain_text(
        "No catalogue 'nowhere'"
    )


def test_lists_within_an_answer_are_shown_and_tables_where_things_are_no_records(
    visit: Start,
) -> None:
    page = visit().open(f"/tools/catalog.search?a={quote(json.dumps({'query': 'blues'}))}")
    for name in ("Artists", "Albums", "Tracks"):
        expect(page.get_by_role("list", name=name).get_by_role("listitem").first).to_be_visible()
    page = visit().open(
        f"/tools/browse?a={quote(json.dumps({'catalogue': 'anime', 'by': ['type']}))}"
    )
    expect(page.get_by_role("table").first).to_contain_text("MOVIE")


def test_an_address_runs_no_tool_that_changes_something_and_a_form_asks_first(visit: Start) -> None:
    given = {"action": "create", "kind": "artist", "fields": {"name": "The Uninvited"}}
    here = visit()
    page = here.open(f"/tools/catalog.mutate?a={quote(json.dumps(given))}")
    expect(page.get_by_label("Kind")).to_have_value("artist")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The answer appears here.")).to_be_visible()
    assert (
        here.call("catalog.search", query="The Uninvited", kind="artist")["artists"]["total"] == 0
    )
    page.get_by_label("Preview").select_option("yes")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("The Uninvited")
    expect(page.get_by_role("region", name="Answer")).to_contain_text("Applied")


def test_an_address_with_arguments_by_name_fills_the_form_and_shows_the_answer(
    visit: Start,
) -> None:
    page = visit().open("/tools/search?query=space&limit=3&other=1")
    expect(page.locator("input[name=query], textarea[name=query]")).to_have_value("space")
    expect(page.locator("input[name=limit]")).to_have_value("3")
    expect(page.get_by_text("Answered in")).to_be_visible()


def test_an_operation_that_was_just_declared_has_a_form(
    visit: Start, start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    home = copy_samples(tmp_path, "anime", "papers")
    program = (*PROGRAM, "serve", "--http", "--port", "0")
    page = visit(start_server(home, "--no-accounts", program=program).url).open("/tools")
    page.get_by_role("link", name="Letters find").click()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("This is required.")).to_be_visible()
    page.get_by_label("Letter").fill("a")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("anime")
