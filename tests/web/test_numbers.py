"""Every number of a result set is the same wherever it is shown: list, facets, map, chat,
assistant, REST.
"""

import json
import re
from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.browsing import Start, Visit
from support.processes import ServerProcess
from support.view_host import Assistant

pytestmark = pytest.mark.row("Z16", "N13")

ADDRESSES = (
    "/c/anime",
    "/c/anime?q=space",
    "/c/anime?q=space+drama&f.type=TV",
    "/c/anime?q=films+after+2010,+not+horror",
    "/c/anime?q=melancholy+films+after+2010",
    "/c/anime?q=qwxzv+blorp",
    "/c/anime?f.type=MOVIE",
    "/c/anime?f.type=MOVIE&f.type=OVA",
    "/c/anime?x.type=TV&r.year=1990..2005",
    "/c/anime?r.year=2015..&sort=-year",
    "/c/anime?f.adult=true",
    "/c/music",
    "/c/music?q=piano",
    "/c/music?q=blues&f.kind=track",
    "/c/music?f.kind=album",
    "/c/papers",
    "/c/papers?q=learning",
    "/c/judoka",
    "/c/handbook?q=how+to+search",
    "/c/anime?q=space&u=space&sort=title",
)
WITH_MAP = ("/c/anime?q=space", "/c/anime?f.type=MOVIE", "/c/anime?q=melancholy+films+after+2010")
NUMBER = re.compile(r"\d[\d,]*")
ASK = """async ([path, args]) => {
  const site = document.querySelector("script[type=module]").src.replace("start.js", "");
  const {callTool} = await import(`${site}core/server.js`);
  const {searchOf} = await import(`${site}core/catalogue.js`);
  const [, catalogue] = path.split("/").slice(1);
  const asked = searchOf(catalogue, new URLSearchParams(args));
  const found = await callTool("search", {...asked, limit: 5, include: ["counts", "facets"]});
  return {...found, only_orders: Boolean(found.only_orders)};
}"""


def numbers_in(text: str) -> list[int]:
    """Return the numbers of a sentence."""
    return [int(found.replace(",", "")) for found in NUMBER.findall(re.sub("“.*”", "", text))]


def open_address(visited: Visit, address: str) -> Page:
    """Show an address, and wait for its hits and their counts."""
    page = visited.open(address)
    expect(page.locator(".explore .facets")).to_have_attribute("aria-busy", "false")
    expect(page.locator(".found")).to_have_attribute("aria-busy", "false")
    return page


def counted_on(page: Page) -> dict[str, list[int]]:
    """Return the counts of the facets that are shown."""
    rows = page.locator(".facet .value").evaluate_all(
        """(rows) => rows.map((row) => [row.closest(".facet").querySelector("legend").textContent,
          row.querySelector(".value-count").textContent])"""
    )
    facets: dict[str, list[int]] = {}
    for label, count in rows:
        facets.setdefault(label, []).append(int(count.replace(",", "")))
    return facets


def expected_count(rest: dict[str, Any], query: str) -> list[int]:
    """Return the numbers of the line above the hits, by the answer over REST."""
    if not query or rest["only_orders"]:
        return [rest["listed"] if query else rest["total"]]
    if rest["evidence"] == "none":
        return []
    return [rest["total"], rest["listed"]] if rest["listed"] > rest["total"] else [rest["total"]]


def wrong_facets(facets: list[dict[str, Any]], shown: dict[str, list[int]]) -> list[str]:
    """Return the facets with a count that no value has over REST; one that is left out may be shown
    without any.
    """
    known = {facet["label"]: [one["count"] for one in facet.get("values", ())] for facet in facets}
    return [
        label for label, counts in shown.items() if Counter(counts) - Counter([*known[label], 0])
    ]


def test_every_number_of_an_address_is_the_same_wherever_it_is_shown(
    visit: Start, open_server: ServerProcess
) -> None:
    visited, problems = visit(), []
    assistant = Assistant(visit(), open_server)
    assistant.show()
    for address in ADDRESSES:
        page = open_address(visited, address)
        path, _, args = address.partition("?")
        rest = page.evaluate(ASK, [path, args])
        call = json.loads(page.locator("details.call pre").last.text_content() or "")
        told = assistant.tell(call["name"], call["arguments"])["structuredContent"]
        shown = {
            "list": numbers_in(page.locator(".count").inner_text()),
            "facets": wrong_facets(rest["facets"], counted_on(page)),
            "assistant": told["total"],
        }
        expected = {
            "list": expected_count(rest, call["arguments"]["query"].removeprefix("*")),
            "facets": [],
            "assistant": rest["total"],
        }
        wrong = [name for name in shown if shown[name] != expected[name]]
        problems += [f"{address}: {name}: {shown[name]}, REST: {expected[name]}" for name in wrong]
        expect(assistant.view.get_by_role("status").first).to_contain_text(
            f"{len(told['results'])} record"
        )
    assert problems == [], "\n".join(problems)


@pytest.mark.parametrize("address", WITH_MAP)
def test_the_map_lights_what_the_list_counts(visit: Start, address: str) -> None:
    visited = visit()
    count = numbers_in(open_address(visited, address).locator(".count").inner_text())
    page = visited.open(f"{address}&view=map")
    caption = page.locator(".map-count")
    expect(caption).to_contain_text("lit")
    assert numbers_in(caption.inner_text())[1] in count
