"""Adding a table on the page: dropped, built, searched, and undone."""

import pytest
from playwright.sync_api import FilePayload, Page, expect

from support.browsing import PHONE, Start

pytestmark = pytest.mark.row("N13", "Z16")

PLAYS = """code,play,year,note
p1,Hamlet,1603,a prince who waits
p2,<b>Macbeth</b>,1606,<img src=x onerror=alert(1)>
p3,The Tempest,1611,an island and a storm
"""


def choose(page: Page, name: str, content: str) -> None:
    """Choose a file, as a person does who presses Enter on the box."""
    file: FilePayload = {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
    page.get_by_label("Drop a table here").set_input_files(file)


def test_a_table_is_added_built_searched_and_removed(visit: Start) -> None:
    visited = visit(allowed=("409", "ERR_FAILED"))
    # once it is back, while its records are embedded on a busy machine
    busy = "503 (Service Unavailable)"
    visited.allowed += (f"{busy} ({visited.origin}/v1/catalogues/plays)",)
    page = visited.open("/add")
    expect(page.get_by_label("Drop a table here")).to_be_attached()
    visited.check_access()
    # one look at how far it is fails
    page.route("**/v1/tables/*", lambda route: route.abort(), times=1)
    choose(page, "plays.csv", PLAYS)
    expect(page.get_by_role("heading", name="plays is ready")).to_be_focused(timeout=120_000)
    expect(page.get_by_text("3 records were written.")).to_be_visible()
    visited.check_access()
    expect(page.get_by_role("link", name="Search it")).to_have_attribute("href", "/c/plays")
    found = page.request.post(
        f"{visited.origin}/v1/tools/search", data={"query": "storm", "catalogue": "plays"}
    )
    assert found.json()["results"][0]["title"] == "The Tempest"

    page.get_by_role("button", name="Undo").press("Enter")
    page.get_by_role("button", name="Yes, remove").press("Enter")
    expect(page.get_by_label("Drop a table here")).to_be_attached()
    expect(page.get_by_role("status").filter(has_text="The catalogue was removed.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url("**/manage/plays")
    expect(page.get_by_role("heading", name="Manage Plays")).to_be_visible()
    assert page.request.delete(f"{visited.origin}/v1/catalogues/plays").ok


def test_a_file_that_is_no_table_is_refused_with_the_reason(visit: Start) -> None:
    visited = visit(width=PHONE, scheme="dark", allowed=("400", "409"))
    page = visited.open("/add")
    choose(page, "plays.docx", "no table")
    expect(page.get_by_role("alert")).to_contain_text("'plays.docx' is no table")
    choose(page, "plays.xlsx", "no workbook")
    expect(page.get_by_role("alert")).to_contain_text(
        "plays.xlsx: cannot be read as a spreadsheet", timeout=120_000
    )
    visited.check_access()
    page.get_by_role("button", name="Discard it").click()
    expect(page.get_by_label("Drop a table here")).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE


def test_a_file_that_is_read_wrongly_offers_the_field_that_the_message_speaks_of(
    visit: Start,
) -> None:
    visited = visit(width=PHONE)
    page = visited.open("/add")
    choose(page, "ragged.csv", "code,play\n1,Hamlet\n2,Macbeth,1606,x\n3,The Tempest\n")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("1 of 3 rows cannot be read", timeout=120_000)
    assert "--" not in alert.inner_text()
    visited.check_access()
    page.get_by_label("Build it without the rows that cannot be read").check()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="ragged is ready")).to_be_visible(timeout=120_000)
    assert page.request.delete(f"{visited.origin}/v1/catalogues/ragged").ok


def test_a_file_that_is_refused_because_others_wait_can_be_sent_again(
    visit: Start,
) -> None:
    visited = visit(allowed=("409",))
    page = visited.open("/add")
    full = {
        "error": {
            "code": "conflict",
            "message": "8 tables wait to be built already; wait, or discard one of them",
        }
    }
    page.route(
        "**/v1/tables",
        lambda route: (
            route.fulfill(status=409, json=full)
            if route.request.method == "POST"
            else route.continue_()
        ),
    )
    choose(page, "again.csv", PLAYS)
    expect(page.get_by_role("alert")).to_contain_text("8 tables wait to be built already")
    page.unroute("**/v1/tables")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="again is ready")).to_be_visible(timeout=120_000)
    assert page.request.delete(f"{visited.origin}/v1/catalogues/again").ok
