"""The documentation that a server shows: read on a phone, followed from page to page and to a
heading.
"""

from playwright.sync_api import expect

from support.browsing import PHONE, Start


def test_a_reader_follows_the_documentation_from_connect_to_a_heading(
    visit: Start,
) -> None:
    visited = visit(width=PHONE)
    page = visited.open("/connect")
    page.get_by_role("link", name="Documentation").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Documentation")

    page.get_by_role("link", name="Write a catalogue package").click()
    page.get_by_role("link", name="Add a catalogue", exact=True).last.click()

    expect(page.locator("#field-by-field")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    visited.check_access()
