"""The first view of an address: three round trips from nothing to what was asked for."""

import pytest
from playwright.sync_api import Route

from support.browsing import Start, Visit

pytestmark = pytest.mark.row("Z16")

FIRST = {
    "/": "main .card a",
    "/search?q=a+journey+over+the+sea": "main .hit-title a",
    "/c/anime?q=space+drama": "main .hit-title a",
    "/c/anime?view=table": "main tbody a",
    "/c/anime?q=space+drama&open=anime/mal-329": ".drawer .facts",
    "/c/anime/mal-329": ".drawer .facts",
}
"""Address → what a visitor came for."""
MOST_ROUNDS = 3
SETTLED_MS = 200
"""How long nothing more is asked for before the answers are given."""


def count_rounds(visited: Visit, address: str, wanted: str) -> list[list[str]]:
    """Return the requests by rounds: those of a round are answered together, once nothing else is
    asked for.
    """
    page, held, rounds = visited.page, list[Route](), [[address]]
    page.route(
        "**",
        lambda route: (
            route.continue_() if route.request.is_navigation_request() else held.append(route)
        ),
    )
    page.goto(visited.origin + address, wait_until="commit")
    while not page.locator(wanted).count() and len(rounds) < 2 * MOST_ROUNDS:
        asked = -1
        while asked < len(held):
            asked = len(held)
            page.wait_for_timeout(SETTLED_MS)
        rounds.append([route.request.url.removeprefix(visited.origin) for route in held])
        answered, held[:] = [*held], []
        for route in answered:
            route.fulfill(response=route.fetch())
        page.wait_for_timeout(SETTLED_MS)
    page.unroute_all(behavior="ignoreErrors")
    return rounds


@pytest.mark.parametrize("address", FIRST)
def test_the_first_view_takes_three_round_trips(visit: Start, address: str) -> None:
    rounds = count_rounds(visit(), address, FIRST[address])
    assert len(rounds) <= MOST_ROUNDS, "\n".join(
        f"{place}: {names}" for place, names in enumerate(rounds, 1)
    )
