"""The page in another language, and on a phone with all of its navigation in sight."""

import pytest
from playwright.sync_api import Browser, expect

from support.browsing import PHONE, Start
from support.processes import ServerProcess
from support.view_host import Assistant

pytestmark = pytest.mark.row("Z16", "N13")

IN_SIGHT = """(links) => links.every((link) => {
  const {left, right} = link.getBoundingClientRect();
  return left >= 0 && right <= innerWidth;
})"""


def test_the_page_is_in_the_language_that_is_chosen_and_english_otherwise(
    visit: Start,
) -> None:
    visited = visit()
    loaded: list[str] = []
    visited.page.on("request", lambda request: loaded.append(request.url))
    page = visited.open("/connect")
    expect(page.get_by_role("heading", level=1)).to_have_text("Connect your assistant")
    assert not [url for url in loaded if "/languages/" in url or "translate.js" in url]
    page.get_by_label("Language").select_option("de")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ihren Assistenten verbinden")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page = visited.open("/c/anime?q=space")
    expect(page.locator(".count")).to_have_text("30 gute Treffer unter den 99 nächsten")
    expect(page.get_by_role("navigation", name="Hauptmenü").get_by_role("link").first).to_have_text(
        "Kataloge"
    )
    visited.check_access()
    page = visited.open("/run")
    expect(page.get_by_role("heading", name="Hintergrundaufgaben")).to_be_visible()


def test_the_language_of_the_browser_counts_until_one_is_chosen(
    browser: Browser, open_server: ServerProcess
) -> None:
    context = browser.new_context(locale="de-AT")
    page = context.new_page()
    page.goto(f"{open_server.url}/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Was suchen Sie?")
    expect(page.locator(".catalogue").first).to_contain_text("Einträge")
    context.close()


def test_the_view_inside_an_assistant_is_in_the_language_of_the_assistant(
    visit: Start, open_server: ServerProcess
) -> None:
    assistant = Assistant(visit(), open_server)
    assistant.show(locale="de-AT")
    expect(assistant.view.get_by_role("status").first).to_have_text("Suche läuft …")
    assistant.tell("search", {"query": "a journey through space", "catalogue": "anime", "limit": 2})
    expect(assistant.view.get_by_role("status").first).to_contain_text("2 Einträge von")
    expect(assistant.view.locator(".hit-line .sure").first).to_contain_text("Treffer")
    expect(assistant.view.get_by_role("button", name="Mehr davon").first).to_be_visible()


@pytest.mark.parametrize("address", ["/", "/connect", "/run/changes"])
def test_on_a_phone_every_part_of_the_navigation_is_in_sight(visit: Start, address: str) -> None:
    page = visit(width=PHONE).open(address)
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    expect(links).to_have_count(6)
    assert links.evaluate_all(IN_SIGHT)
    tops = set(
        links.evaluate_all("(links) => links.map((link) => link.getBoundingClientRect().top)")
    )
    assert len(tops) == 1
    if address.startswith("/run"):
        tabs = page.get_by_role("navigation", name="Run").get_by_role("link")
        assert (
            len(
                set(
                    tabs.evaluate_all(
                        "(links) => links.map((link) => link.getBoundingClientRect().top)"
                    )
                )
            )
            == 1
        )
        assert page.locator(".run-nav [aria-current]").evaluate_all(IN_SIGHT)


def test_a_table_on_a_phone_has_the_columns_that_fit(visit: Start) -> None:
    page = visit(width=PHONE).open("/c/anime?view=table&sort=-episodes")
    heads = page.get_by_role("region", name="Table of results").get_by_role("columnheader")
    expect(heads).to_have_count(3)
    expect(heads.last).to_contain_text("Episodes")
    assert heads.evaluate_all(IN_SIGHT)
