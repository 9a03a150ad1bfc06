"""Every view, light and dark, on a phone and at a desk: no barrier, no error, nothing refused, no
sideways scroll.

By default the main views are looked at in one of the four forms each, in turn; with
STACKROOM_SWEEP=all all of them in every form.
"""

import os
from itertools import product

import pytest
from playwright.sync_api import expect

from support.browsing import DESK, PHONE, Start, Visit

pytestmark = pytest.mark.row("Z16", "Z17", "N13")

FORMS = list(product((PHONE, DESK), ("light", "dark")))
PLACES = {
    "/": "What are you looking for?",
    "/search?q=a+journey+over+the+sea": "journey",
    "/c/anime?q=space+drama&f.type=TV&r.year=1990..": "Anime",
    "/c/anime?q=space+drama&view=table": "Year",
    "/c/anime?q=space+drama&view=map": "Anime",
    "/c/anime?q=space+drama&open=anime/mal-329": "Anime",
    "/taste/anime": "Taste",
    "/music": "Music",
    "/run": "Health",
    "/tools/search": "search",
    "/add": "Add",
    "/connect": "Connect",
    "/nope": "There is nothing here",
}
"""Address → a word of what is there."""
MORE_PLACES = {
    "/c/anime": "Anime",
    "/c/anime?q=qwxzv+blorp": "Nothing here answers this",
    "/c/nowhere": "nowhere",
    "/c/music?q=blues&view=queue": "Music",
    "/music/albums": "Albums",
    "/music/tracks": "Tracks",
    "/music/playlists": "Playlists",
    "/run/analytics": "Analytics",
    "/run/jobs": "Jobs",
    "/run/changes": "Change",
    "/run/logs": "Logs",
    "/tools": "Tools",
    "/account": "Account",
}
IS_WHOLE = os.environ.get("STACKROOM_SWEEP") == "all"
ALLOWED = ("404 (Not Found)",)
NARROW = 320


def places_of(form: tuple[int, str]) -> list[str]:
    """Return the addresses that are looked at in a form."""
    if IS_WHOLE:
        return [*PLACES, *MORE_PLACES]
    return list(PLACES)[FORMS.index(form) :: len(FORMS)]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form[0]} {form[1]}")
def test_every_view_is_fit_for_everybody(visit: Start, form: tuple[int, str]) -> None:
    width, scheme = form
    visited = visit(width=width, scheme=scheme, allowed=ALLOWED)
    problems = [
        f"{address}: {one}" for address in places_of(form) for one in problems_at(visited, address)
    ]
    assert problems == [], "\n".join(problems)


def problems_at(visited: Visit, address: str) -> list[str]:
    """Return what is wrong with a view."""
    page = visited.open(address)
    found: list[str] = []
    try:
        expect(page.locator("main")).to_contain_text({**PLACES, **MORE_PLACES}[address])
        expect(page.locator("main .spinner")).to_have_count(0)
        visited.check_access(is_whole=True)
    except AssertionError as error:
        found.append(str(error).partition("Call log")[0])
    found += visited.found_problems()
    visited.problems.clear()
    before = page.viewport_size
    assert before is not None
    if before["width"] == PHONE:
        page.set_viewport_size({"width": NARROW, "height": before["height"]})
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append(f"scrolls sideways at {page.evaluate('innerWidth')}")
    page.set_viewport_size(before)
    return found
