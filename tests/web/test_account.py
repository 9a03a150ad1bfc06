"""Logging in, connecting an assistant, and one's account: with the keyboard too, on a phone, in the
dark.
"""

import json
import re

import httpx
from playwright.sync_api import Page, expect

from support.browsing import PASSWORD, PHONE, Start
from support.processes import ServerProcess

KEPT = '["taste", "music_queue", "docks", "ai_chat_config", "user"]'
"""What a browser keeps of the person who is logged in."""


def new_user(server: ServerProcess, name: str, *roles: str) -> str:
    """Make an account, and return its one-time password."""
    with httpx.Client(base_url=server.url) as client:
        client.post("/v1/login", json={"name": "admin", "password": PASSWORD}).raise_for_status()
        wanted = {"action": "create", "name": name, "role": list(roles) or ["user"]}
        answer = client.post("/v1/tools/users.mutate", json=wanted)
        return str(answer.raise_for_status().json()["one_time_password"])


def focused(page: Page) -> str:
    """Return the id or the name of the element that has the focus."""
    return str(
        page.evaluate(
            "document.activeElement.id || document.activeElement.name ||"
            " document.activeElement.tagName"
        )
    )


def test_a_one_time_password_leads_to_ones_own_and_to_a_configuration_that_holds_a_token(
    visit: Start, shared_server: ServerProcess
) -> None:
    secret = new_user(shared_server, "ida")
    here = visit(shared_server.url, allowed=("401", "403"))
    page = here.open("/connect")
    expect(page.get_by_role("heading", name="Connect your assistant", level=1)).to_be_visible()
    expect(page.get_by_label("the configuration", exact=True)).to_contain_text("Bearer YOUR_TOKEN")
    page.get_by_role("link", name="Log in to create one.").click()

    # With the keyboard alone: the name has the focus at once, Enter sends, and what is wrong is
    # told.
    expect(page.get_by_role("heading", name="Log in", level=1)).to_be_visible()
    here.check_access()
    page.keyboard.type("ida")
    page.keyboard.press("Tab")
    page.keyboard.type("not this one")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The name or the password is not right")
    page.get_by_label("Password").fill(secret)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Choose your password", level=1)).to_be_visible()
    here.check_access()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="ida", level=1)).to_be_visible()
    assert focused(page) == "main"

    page.get_by_role("link", name="Connect").click()
    page.get_by_label("Token name").fill("laptop")
    page.get_by_label("Token name").press("Enter")
    token = page.get_by_label("the token", exact=True).inner_text()
    assert token.startswith("stk_t_")
    page.get_by_role("tab", name="Claude Code").focus()
    for key, chosen in (
        ("End", "REST"),
        ("Home", "Claude Code"),
        ("ArrowRight", "Cursor"),
        ("ArrowRight", "VS Code"),
    ):
        page.keyboard.press(key)
        expect(page.get_by_role("tab", name=chosen)).to_be_focused()
        expect(page.get_by_role("tabpanel", name=chosen)).to_contain_text(token)
    written = json.loads(page.get_by_label("the configuration", exact=True).inner_text())
    assert written["servers"]["stackroom"]["url"] == f"{shared_server.url}/mcp"
    expect(page.get_by_role("link", name="Add to VS Code")).to_have_attribute(
        "href", re.compile("^vscode:mcp/install")
    )
    here.check_access()


def test_an_account_changes_its_password_revokes_a_token_and_logs_out_on_a_phone_in_the_dark(
    visit: Start, shared_server: ServerProcess
) -> None:
    with httpx.Client(base_url=shared_server.url) as client:
        entered = {"name": "ove", "password": new_user(shared_server, "ove")}
        client.post("/v1/login", json=entered).raise_for_status()
        client.post("/v1/me/password", json={"password": PASSWORD}).raise_for_status()
        client.post("/v1/tokens", json={"name": "old phone"}).raise_for_status()
    here = visit(shared_server.url, width=PHONE, scheme="dark", allowed=("403",))
    here.enter("ove")
    page = here.open("/account")
    expect(page.get_by_role("button", name="Revoke old phone")).to_be_visible()
    here.check_access()
    page.get_by_label("Current password").fill("wrong one")
    page.get_by_label("New password").fill("a better password")
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("Current password is not right")).to_be_visible()
    expect(page.get_by_label("Current password")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("Password changed")).to_be_visible()
    page.get_by_role("button", name="Revoke old phone").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_role("button", name="Revoke old phone")).to_have_count(0)
    small = page.evaluate(
        """() => [...document.querySelectorAll(
          "a:not(.skip), button, summary, input:not([hidden]), select")]
        .filter((one) => !one.closest("p") && !one.closest("label.inline"))
        .filter((one) => one.getClientRects().length)
        .filter((one) => one.getBoundingClientRect().height < 24)
        .map((one) => one.outerHTML.slice(0, 120))"""
    )
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    page.evaluate(
        f"window.isOld = true; {KEPT}.forEach((key) => localStorage.setItem(key, '{{}}'))"
    )
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in", level=1)).to_be_visible()
    assert focused(page) == "name"
    assert (
        page.evaluate(f"Boolean(window.isOld) || {KEPT}.some((key) => localStorage.getItem(key))")
        is False
    )


def log_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def test_a_session_that_ends_meanwhile_asks_to_log_in_again_and_shows_its_things_to_nobody_else(
    visit: Start, shared_server: ServerProcess
) -> None:
    with httpx.Client(base_url=shared_server.url) as client:
        client.post(
            "/v1/login", json={"name": "una", "password": new_user(shared_server, "una")}
        ).raise_for_status()
        client.post("/v1/me/password", json={"password": PASSWORD}).raise_for_status()
    here = visit(shared_server.url, allowed=("401",))
    here.enter()
    page = here.open("/run/users")
    expect(page.get_by_role("button", name="admin", exact=True)).to_be_visible()
    page.get_by_role("link", name="Catalogues").click()
    page.get_by_role("link", name="Anime", exact=True).click()
    page.get_by_role("button", name=re.compile("^Like ")).first.click()
    tray = page.get_by_role("complementary", name="Taste")
    expect(tray).to_contain_text("1 like")
    television = page.get_by_role("checkbox", name=re.compile("^TV"))
    for name, likes in (("admin", 1), ("una", 0)):
        expect(television).to_be_visible()
        page.context.clear_cookies()
        television.click()
        expect(page.get_by_role("heading", name="Log in", level=1)).to_be_visible()
        log_in(page, name)
        expect(page.get_by_role("link", name=name)).to_be_visible()
        expect(page.locator("article.hit").first).to_be_visible()
        expect(tray).to_have_count(likes)
