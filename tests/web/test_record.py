"""The record drawer and the taste page in a real browser."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from support.browsing import PHONE, Start

pytestmark = pytest.mark.row("N3")

ALBUM = "music/album-bessie-smith-down-hearted-blues"
CONFLICT = "409 (Conflict)"
MALFORMED = {
    "taste": '{"likes": null, "dislikes": [7]}',
    "music_queue": '{"tracks": null}',
    "docks": '{"player": true}',
}
"""What a browser may have kept from another version, or from somebody's hand."""


def drawer(page: Page, title: str) -> None:
    """Wait for the drawer of a record."""
    expect(page.locator(".drawer.record h2")).to_have_text(title)


def parameters(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_a_record_shows_its_fields_what_is_like_it_and_why_it_has_its_rank(
    visit: Start,
) -> None:
    one = visit()
    page = one.open("/c/anime/mal-1")
    drawer(page, "Cowboy Bebop")
    assert parameters(page) == {"open": ["anime/mal-1"]}, (
        "the address of a record alone is its catalogue's, with it open"
    )
    expect(page.locator(".drawer.record")).to_be_focused()
    expect(page.get_by_role("link", name="organized crime")).to_have_attribute(
        "href", "/c/anime?f.tags=organized+crime"
    )
    expect(
        page.locator(".record-group", has_text="Similar").get_by_role("link").first
    ).to_be_visible()
    page = one.open("/c/anime?q=bounty+hunters+in+space&open=anime%2Fmal-1")
    page.get_by_text("Why this rank?").click()
    expect(page.locator(".why")).to_contain_text("Number 1")
    expect(page.locator(".bars")).to_contain_text("meaning")
    page.get_by_label("Why not another?").fill("Shingeki no Kyojin")
    page.get_by_role("list", name="Suggestions").get_by_role(
        "button", name="Shingeki no Kyojin", exact=True
    ).click()
    drawer(page, "Shingeki no Kyojin")
    page.get_by_text("Why this rank?").click()
    expect(page.locator(".because")).to_contain_text("by meaning it is number")
    one.check_access()
    with one.late("**/v1/tools/fetch", asking='"anime/mal-1"') as wait_asked:
        page.go_back()
        wait_asked()
        with page.expect_response("**/v1/tools/fetch"):
            page.go_forward()
    drawer(page, "Shingeki no Kyojin")  # the answer for the other record came late
    page.go_back()
    drawer(page, "Cowboy Bebop")
    page.keyboard.press("Escape")
    expect(page.locator(".drawer.record")).to_have_count(0)
    assert "open" not in parameters(page)


def test_an_edit_is_previewed_with_all_that_follows_applied_and_undone_by_keyboard(
    visit: Start,
) -> None:
    one = visit(width=PHONE, scheme="dark", allowed=(CONFLICT,))
    page = one.open(f"/c/music?open={ALBUM}")
    form = page.locator(".drawer.record")
    page.get_by_role("button", name="Edit").press("Enter")
    form.get_by_label("Year").fill("1924")
    form.get_by_label("Year").press("Escape")
    question = page.get_by_role("dialog", name="Leave the form?")
    question.get_by_text("is not saved").hover()
    page.mouse.down()
    page.mouse.move(4, 4)
    page.mouse.up()
    question.get_by_role("button", name="Keep editing").click()
    expect(form.get_by_label("Year")).to_have_value("1924")
    form.get_by_label("Name").fill("Down Hearted Rags / Gulf Coast Blues")
    form.get_by_label("Name").press("Enter")
    changes = page.locator(".changes > li")
    expect(changes).to_have_count(3), "the album, and its tracks that repeat its name"
    expect(changes.first.locator("del")).to_have_text(["Blues", "1923"])
    expect(changes.first.locator("ins")).to_have_text(["Rags", "1924"])
    one.check_access()
    page.get_by_role("button", name="Apply").press("Enter")
    drawer(page, "Down Hearted Rags / Gulf Coast Blues")
    page.get_by_role("button", name="Undo").press("Enter")
    drawer(page, "Down Hearted Blues / Gulf Coast Blues")
    page.get_by_role("button", name="Edit").press("Enter")
    page.get_by_role("button", name="Delete …").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is named by")
    page.get_by_role("button", name="See what would be deleted with it").press("Enter")
    expect(page.locator(".changes > li")).to_have_count(3)
    page.get_by_role("button", name="Back").press("Enter")
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(page.get_by_role("link", name="1923")).to_be_visible()


def test_a_tray_of_likes_and_a_sentence_recommend_live_and_are_an_address(
    visit: Start,
) -> None:
    one = visit()
    page = one.open("/c/anime?open=anime/mal-1")
    page.evaluate(
        "([kept]) => { for (const [key, value] of Object.entries(kept)) localStorage.setItem(key,"
        " value); }",
        [MALFORMED],
    )
    page.reload()
    page.get_by_role("button", name="Like", exact=True).click()
    tray = page.get_by_role("complementary", name="Taste")
    expect(tray).to_contain_text("1 like")
    tray.get_by_role("link", name="Recommend").click()
    hits = page.get_by_role("list", name="Recommendations").locator("article h3")
    expect(hits).to_have_count(12)
    first = hits.first.inner_text()
    page.get_by_label("In the mood for").fill("after 2010, not horror, great soundtrack")
    expect(page.get_by_role("list", name="Understood")).to_contain_text("year ≥ 2011")
    expect(page.get_by_role("list", name="Understood")).to_contain_text(
        "Not understood: great soundtrack"
    )
    page.get_by_role("button", name="Forget after 2010").click()
    expect(page.get_by_label("In the mood for")).to_have_value("not horror, great soundtrack")
    page.get_by_label("In the mood for").fill("")
    expect(hits.first).to_have_text(first)
    page.get_by_label("Same year").fill("1")
    page.get_by_label("Meaning").fill("0")
    expect(page.locator(".hits .hit-line").first).to_have_text("1998")
    one.check_access()
    page.get_by_role("button", name="Dislike").first.click()
    expect(page.get_by_role("heading", name="Dislikes")).to_be_visible()
    assert parameters(page)["like"] == ["mal-1"]
    assert parameters(page)["w.semantic"] == ["0"]
    shared = visit(width=PHONE, scheme="dark")
    there = shared.open(page.url.removeprefix(one.origin))
    expect(there.get_by_role("region", name="Tray")).to_contain_text("Cowboy Bebop")
    expect(there.get_by_role("list", name="Recommendations").locator("article h3")).to_have_text(
        hits.all_inner_texts()
    )
    shared.check_access()
    there.get_by_role("button", name="Empty the tray").click()
    expect(there.get_by_text("What do you like?")).to_be_visible()
    there.get_by_label("Something you like").fill("Steins")
    there.get_by_role("list", name="Suggestions").get_by_role("button").first.click()
    expect(there.get_by_role("list", name="Recommendations").locator("article")).to_have_count(12)
