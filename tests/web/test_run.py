"""Running the server from the page: every concern for those who may, and none of it for those who
may not.
"""

import re

from playwright.sync_api import Page, expect

from support.browsing import PHONE, Start
from support.processes import ServerProcess


def confirm(page: Page, answer: str) -> None:
    """Answer the question that a dialog asks."""
    page.get_by_role("dialog").get_by_role("button", name=answer, exact=True).click()


def test_accounts_roles_access_and_tokens_are_managed_by_those_who_may(
    visit: Start, shared_server: ServerProcess
) -> None:
    here = visit(shared_server.url, allowed=("400", "404", "409"))
    here.enter()
    page = here.open("/run/roles")
    page.get_by_role("button", name="New role").click()
    page.get_by_label("Name").fill("curator")
    page.get_by_label("Edit records").check()
    page.get_by_role("group", name="Requests per minute").get_by_label("Read").fill("300")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="curator")).to_contain_text("300 read")

    page.get_by_role("link", name="Users").click()
    page.get_by_label("Name").fill("admin")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("alert")).to_contain_text("admin")
    page.get_by_label("Name").fill("eve")
    page.get_by_label("curator").check()
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_text("eve can log in once with this password")).to_be_visible()
    page.get_by_role("button", name="eve", exact=True).click()
    page.get_by_role("dialog").get_by_label("See analytics").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="eve")).to_contain_text("See analytics")
    page.get_by_role("button", name="eve", exact=True).click()
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("row").filter(has_text="eve")).to_contain_text("disabled")

    page.get_by_role("link", name="Access").click()
    page.get_by_role("button", name="papers").click()
    page.get_by_label("Only these").check()
    page.get_by_role("dialog").get_by_label("curator").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="papers")).to_contain_text(
        "everybody with the role curator"
    )
    page.get_by_role("button", name="papers").click()
    page.get_by_label("Everybody").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="papers")).to_contain_text("everybody")

    made = page.request.post(f"{here.origin}/v1/tokens", data={"name": "lost key"}).json()
    page.get_by_role("link", name="Tokens").click()
    page.get_by_role("button", name="Revoke lost key of admin").click()
    confirm(page, "Revoke")
    expect(page.get_by_role("button", name="Revoke lost key of admin")).to_have_count(0)
    refused = page.request.get(
        f"{here.origin}/v1/me", headers={"Authorization": f"Bearer {made['token']}", "Cookie": ""}
    )
    assert refused.status == 401


def test_jobs_changes_audit_logs_and_statements_are_there_for_administrators(
    visit: Start, shared_server: ServerProcess
) -> None:
    here = visit(shared_server.url, allowed=("400", "403"))
    here.enter()
    page = here.open("/run/jobs")
    page.get_by_role("button", name="Run verify_indexes now").click()
    expect(page.get_by_label("Output")).to_contain_text("verify_indexes, run")
    expect(page.get_by_label("Output")).to_contain_text("done", timeout=120_000)
    page.get_by_role("button", name=re.compile("^Schedule:")).click()
    page.get_by_label("Schedule").fill("every full moon")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_contain_text("every full moon' is not understood")
    page.keyboard.press("Escape")

    changed = here.call(
        "catalog.mutate", action="create", kind="artist", fields={"name": "The Undone"}
    )
    page.get_by_role("link", name="Changes").click()
    identifier = changed["changes"][0]["id"]
    page.get_by_role("button", name=f"Undo the change of {identifier}").first.click()
    confirm(page, "Undo")
    expect(page.get_by_role("heading", name=re.compile(f"{identifier} delete"))).to_be_visible()

    with here.late("**/v1/tools/server.query") as wait_asked:
        page.get_by_role("link", name="Audit").click()
        wait_asked()
        page.get_by_label("Tool, URI or operation").fill("catalog.mutate")
    expect(page.get_by_text("intact", exact=True)).to_be_visible()
    page.get_by_role("button", name="Filter").click()
    expect(page).to_have_url(re.compile("tool=catalog.mutate"))
    expect(page.get_by_role("table").get_by_text("jobs.action")).to_have_count(0)
    expect(page.get_by_role("table").get_by_text("catalog.mutate")).not_to_have_count(0)

    page.get_by_role("link", name="SQL").click()
    page.get_by_label("Catalogue").select_option("music")
    page.get_by_label("Statement").fill("DELETE FROM items")
    page.get_by_role("button", name="Run it", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Denied")
    page.get_by_label("Statement").fill("SELECT count(*) AS found FROM items WHERE kind = 'artist'")
    page.get_by_label("Statement").press("Control+Enter")
    expect(page.get_by_role("columnheader", name="found")).to_be_visible()

    page.get_by_role("link", name="Logs").click()
    page.get_by_label("Filter lines").fill("debug.sql")
    expect(page.get_by_role("table")).to_contain_text('outcome="refused"')


def test_what_the_page_searched_is_in_the_analytics_and_its_own_calls_are_not_in_the_audit(
    visit: Start, shared_server: ServerProcess
) -> None:
    here = visit(shared_server.url, width=PHONE, scheme="dark")
    here.enter()
    for query in ("cowboy", "qwxzv+blorp", ""):
        page = here.open(f"/c/anime?q={query}")
        expect(page.locator(".facet").first).to_be_attached()
    page = here.open("/run/analytics")
    expect(page.get_by_role("region", name="Searches without results")).to_contain_text(
        "qwxzv blorp"
    )
    asked = page.get_by_role("region", name="Top searches")
    expect(asked.get_by_role("row").filter(has_text="cowboy")).to_contain_text(
        re.compile(r"cowboy\s*(Searches)?\s*1")
    )
    expect(asked.get_by_text("*", exact=True)).to_have_count(0)
    audit = here.call("server.query", query_type="audit", limit=200)["rows"]
    assert not {row["operation"] for row in audit} & {"account/me", "player/list_likes"}
    here.check_access()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    page.get_by_role("link", name="Health").click()
    expect(page.get_by_role("heading", name="Parts")).to_be_visible()


def test_readers_see_no_page_that_they_may_not_use(
    visit: Start, shared_server: ServerProcess
) -> None:
    administrator = visit(shared_server.url)
    administrator.enter()
    secret = administrator.call("users.mutate", action="create", name="rea")["one_time_password"]
    here = visit(shared_server.url)
    request = here.page.request
    assert request.post(f"{here.origin}/v1/login", data={"name": "rea", "password": secret}).ok
    assert request.post(f"{here.origin}/v1/me/password", data={"password": "quite long enough"}).ok
    page = here.open("/run/users")
    expect(page.get_by_role("heading", name="You do not have access")).to_be_visible()
    expect(
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Run")
    ).to_have_count(0)
    expect(page.get_by_role("navigation", name="Run").get_by_role("link")).to_have_text(["Health"])


def test_a_server_without_accounts_shows_what_it_has(visit: Start) -> None:
    here = visit()
    page = here.open("/run")
    expect(page.get_by_role("heading", name="Parts")).to_be_visible()
    names = page.get_by_role("navigation", name="Run").get_by_role("link").all_inner_texts()
    assert {"Health", "Changes"} <= set(names)
    assert not {"Analytics", "Users", "Roles", "Access", "Tokens", "Audit"} & set(names)
    for name in names:
        page.get_by_role("navigation", name="Run").get_by_role(
            "link", name=name, exact=True
        ).click()
        expect(page.get_by_role("heading", name=name, exact=True, level=1)).to_be_visible()
        expect(page.locator(".spinner")).to_have_count(0)
        expect(page.locator(".notice.bad")).to_have_count(0)
