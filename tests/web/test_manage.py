"""A catalogue's own page for its owner, in a real browser: words, name, new data, columns, quality,
removal.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import FilePayload, Page, expect

from support import launching
from support.browsing import PHONE, Start, Visit
from support.processes import ServerProcess, wait_until

pytestmark = pytest.mark.row("N13", "Z16")

PLAYS = """code,play,year,author,note
p1,Hamlet,1603,Shakespeare,a prince who waits
p2,Macbeth,1606,Shakespeare,a thane who does not
p3,The Tempest,1611,Shakespeare,an island and a storm
"""
NEWER = PLAYS.replace("p2,Macbeth,1606", "p2,Macbeth,1607").replace(
    PLAYS.splitlines()[3], "p4,Volpone,1606,Jonson,a fox"
)
LONGEST_WORK_S = 540
"""What a command beside the server may take on however busy a machine: its end is waited for."""


@pytest.fixture(scope="module")
def owned(
    tmp_path_factory: pytest.TempPathFactory, start_server: Callable[..., ServerProcess]
) -> ServerProcess:
    """A server without accounts over a library with one small table."""
    folder = tmp_path_factory.mktemp("manage")
    (folder / "plays.csv").write_text(PLAYS)
    environment = {**os.environ, "STACKROOM_HOME": str(folder / "home")}
    done = launching.run(
        "add", str(folder / "plays.csv"), "--yes", "--no-embed", environment=environment
    )
    assert done.returncode == 0, done.stderr
    return start_server(folder / "home", "--no-accounts")


def send(page: Page, content: str) -> None:
    file: FilePayload = {"name": "newer.csv", "mimeType": "text/csv", "buffer": content.encode()}
    page.get_by_label("A new file in place of plays.csv").set_input_files(file)


@contextmanager
def finished_work(visited: Visit, catalogue: str) -> Iterator[None]:
    """Let the block begin a command on a catalogue, and wait until the server says it is over."""

    def is_over() -> bool:
        known = visited.page.request.get(f"{visited.origin}/v1/catalogues/{catalogue}")
        if not known.ok:
            assert known.status == 503, known.text()  # its new records are being taken up
            return False
        work = known.json()["work"]
        assert work["problem"] is None, work
        return not work["is_running"]

    with visited.page.expect_response("**/work"):
        yield
    wait_until(is_over, timeout_s=LONGEST_WORK_S, every_s=0.2)


def titles(visited: Visit, catalogue: str, query: str = "*") -> list[str]:
    found = visited.page.request.post(
        f"{visited.origin}/v1/tools/search",
        data={"query": query, "catalogue": catalogue, "limit": 10},
    )
    return [hit["title"] for hit in found.json()["results"]]


def test_an_owner_describes_edits_updates_renames_and_removes_a_catalogue(
    visit: Start, owned: ServerProcess
) -> None:
    visited = visit(owned.url, allowed=("400", "503"))  # while the new file is built
    page = visited.open("/c/plays")
    page.get_by_role("link", name="Manage").click()
    expect(page.get_by_role("heading", name="Manage Plays")).to_be_visible()
    visited.check_access()

    page.get_by_label("Title").fill("🎭 Plays we own")
    page.get_by_label("Its records can be edited").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Manage 🎭 Plays we own")).to_be_visible()

    # the server has followed
    wait_until(lambda: "catalog.mutate" in page.request.get(f"{owned.url}/v1/tools").text())
    visited.open("/c/plays?open=plays/p1")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Note").fill("a prince who acts")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("a prince who acts").first).to_be_visible()

    visited.open("/manage/plays")
    with finished_work(visited, "plays"):
        send(page, NEWER)
    expect(page.get_by_role("button", name="Apply")).to_be_visible()
    for told in ("Volpone", "Macbeth", "The Tempest", "1607"):
        expect(
            page.get_by_role("region", name="What would change").get_by_text(told).first
        ).to_be_visible()
    visited.check_access()
    assert titles(visited, "plays", "storm") == ["The Tempest"], "a plan changes nothing"
    with finished_work(visited, "plays"):
        page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("2 records written, 1 unchanged, 1 removed.")).to_be_visible()
    assert sorted(titles(visited, "plays")) == ["Hamlet", "Macbeth", "Volpone"]
    assert titles(visited, "plays", "prince who acts")[0] == "Hamlet", "an edit survives a new file"

    page.route("**/work", lambda route: route.fulfill(status=202, json={}))
    page.get_by_label("Model that finds by meaning").select_option("granite-embedding-30m-english")
    with page.expect_request("**/work") as embedded:
        page.get_by_role("button", name="Embed all texts anew").click()
    assert embedded.value.post_data_json == {
        "what": "refresh",
        "model": "granite-embedding-30m-english",
    }
    page.unroute("**/work")

    page.get_by_label("Its name in addresses").fill("Big Plays")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("alert")).to_contain_text("lower-case letters")
    page.get_by_label("Its name in addresses").fill("stage")
    page.get_by_role("button", name="Rename").click()
    page.wait_for_url("**/manage/stage")
    expect(page.get_by_text("newer.csv").first).to_be_visible()

    page.get_by_role("button", name="Remove this catalogue").click()
    expect(page.get_by_text("stage was removed.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url("**/manage/stage")
    expect(page.get_by_role("heading", name="Manage 🎭 Plays we own")).to_be_visible()


def test_columns_get_other_roles_with_the_reasons_of_the_proposal_and_what_was_left_out_is_listed(
    visit: Start, owned: ServerProcess
) -> None:
    # while the new columns are built
    visited = visit(owned.url, width=PHONE, scheme="dark", allowed=("503",))
    page = visited.open("/manage/stage")
    with finished_work(visited, "stage"):
        page.get_by_role("button", name="Change columns and roles").click()
    page.get_by_label("Role of author").select_option("people")
    page.get_by_label("Leave out note").check()
    visited.check_access()
    with finished_work(visited, "stage"):
        page.get_by_role("button", name="Build with these").click()
    expect(page.get_by_text("records written")).to_be_visible()
    known = {
        one["name"]: one["role"]
        for one in page.request.get(f"{owned.url}/v1/catalogues/stage").json()["fields"]
    }
    assert "note" not in known
    assert known["author"] == "people"
    with finished_work(visited, "stage"):
        page.get_by_role("button", name="List them").click()
    expect(page.get_by_text("Nothing was left out.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE


def test_whoever_is_no_administrator_is_told_so(visit: Start, shared_server: ServerProcess) -> None:
    shared_server.run("user", "add", "reader", "--one-time")
    token = shared_server.token("reader")
    visited = visit(shared_server.url, allowed=("401", "403"))
    refused = visited.page.request.get(
        f"{shared_server.url}/v1/catalogues/anime", headers={"Authorization": f"Bearer {token}"}
    )
    assert refused.status == 403


def test_a_catalogue_of_a_package_says_what_its_owner_may_not_change(
    visit: Start,
) -> None:
    visited = visit(width=1440, scheme="dark")
    page = visited.open("/manage/anime")
    expect(page.get_by_text("It follows the package anime")).to_be_visible()
    with finished_work(visited, "anime"):
        page.get_by_role("button", name="Grade it").click()
    expect(page.get_by_text("nDCG")).to_be_visible()
    visited.check_access()
