"""The page's document and files: sent small, kept by browsers, and apart from the JSON at the same
paths.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import brotli
import pytest
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from stackroom.serve.http.app import build_router
from stackroom.serve.http.guard import Guard
from stackroom.serve.http.page_paths import SiteFiles, with_page
from stackroom.settings import ServerSettings, WebSettings, load_settings

pytestmark = pytest.mark.row("T6")

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
COMMENT = b"  // Only for those who read it.\n"
SCRIPT = COMMENT + b"export const words = 'catalogue of catalogues'; // kept\n" * 40
PAGE = (
    b"""<!doctype html><title>Page</title>\
<script type="importmap">{"imports": {"x": "{{site}}/x.js"}}</script>
{{graph}}
<script type="module" src="{{site}}/app.js"></script>"""
    + b" " * 300
)
PATHS = json.dumps(
    {"/": ["home.js"], "/c/*": ["list.js"], "/search": ["home.js"], "&view=map": ["map.js"]}
).encode()
FILES = {
    "index.html": PAGE,
    "not-found.html": PAGE,
    "docs.html": b"<title>{{title}}</title>{{content}}",
    "paths.json": PATHS,
    "app.js": SCRIPT,
    "views/map.css": b"a{}",
    "odd.svg": b"<svg/>",
    "start.js": b'import("./app.js");',
    "home.js": b'import {words} from "./core/text.js";',
    "list.js": b'import {words} from "./core/text.js";\nimport("./later.js")',
    "core/text.js": b'export {one,\n  two} from "../core/words.js";',
    "map.js": b'const isStyled = useStyle("views/map.css");',
}


async def answer_json(request: Any) -> JSONResponse:
    return JSONResponse({"path": request.url.path})


async def fail(request: Any) -> JSONResponse:
    raise RuntimeError("a bug with <b>a secret</b>")


ROUTES = [Route("/c/{name}", answer_json), Route("/bug", fail), Route("/", answer_json)]
HOSTS = ServerSettings()


def serve(files: SiteFiles, **settings: Any) -> TestClient:
    app = build_router(with_page(ROUTES, WebSettings(**settings), files), lifespan=None)
    client = TestClient(
        Guard(app, HOSTS), base_url="http://localhost:8080", raise_server_exceptions=False
    )
    client.headers["Accept-Encoding"] = "identity"
    return client


@pytest.fixture
def files(tmp_path: Path) -> SiteFiles:
    for name, content in FILES.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return SiteFiles(tmp_path / "files")


@pytest.fixture
def client(files: SiteFiles) -> TestClient:
    return serve(files)


def test_browsers_get_the_page_at_its_paths_and_programs_get_the_json_there(
    client: TestClient,
) -> None:
    for path in ("/", "/c/games", "/c/games/1", "/search"):
        reply = client.get(path, headers=BROWSER)
        assert (reply.status_code, reply.headers["content-type"]) == (
            200,
            "text/html; charset=utf-8",
        )
        assert "Accept" in reply.headers["vary"]
    for accept in ("*/*", "application/json", "application/json, text/html;q=0.5"):
        reply = client.get("/c/games", headers={"Accept": accept})
        assert reply.json() == {"path": "/c/games"}
    assert client.get("/search").headers["vary"] == "Accept"


def test_the_page_names_its_files_by_an_address_that_is_another_when_one_of_them_changes(
    files: SiteFiles,
) -> None:
    page = serve(files).get("/", headers=BROWSER).text
    assert f'src="{files.address}/app.js"' in page
    assert SiteFiles(files.folder).address == files.address
    (files.folder / "app.js").write_bytes(SCRIPT + b"1")
    assert SiteFiles(files.folder).address != files.address


def linked(client: TestClient, path: str) -> list[str]:
    """Return the files that the document at an address has the browser load with it, apart from its
    log-in form.
    """
    links = re.findall(
        r'<link rel="(?:modulepreload|stylesheet)" href="/site/\w+/(.+?)">',
        client.get(path, headers=BROWSER).text,
    )
    return sorted(name for name in links if name != "views/account.js")


def test_the_document_names_every_file_of_the_view_that_its_address_shows(
    client: TestClient,
) -> None:
    shared = ["start.js", "app.js", "core/text.js", "core/words.js"]
    assert linked(client, "/") == sorted([*shared, "home.js"])
    assert linked(client, "/c/games?q=a") == sorted([*shared, "list.js"])
    assert linked(client, "/c/games?q=a&view=map") == sorted(
        [*shared, "list.js", "map.js", "views/map.css"]
    )


def test_files_are_kept_for_ever_and_of_other_versions_there_are_none(
    client: TestClient, files: SiteFiles
) -> None:
    reply = client.get(f"{files.address}/app.js")
    assert reply.content == SCRIPT.removeprefix(COMMENT)
    assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert (
        client.get(f"{files.address}/views/map.css").headers["content-type"]
        == "text/css; charset=utf-8"
    )
    for wrong in (
        "/site/0123456789abcdef/app.js",
        f"{files.address}/none.js",
        f"{files.address}/../app.js",
        "/site/",
    ):
        assert client.get(wrong).status_code == 404


def test_files_are_sent_compressed_to_those_who_take_it(
    client: TestClient, files: SiteFiles
) -> None:
    path = f"{files.address}/app.js"
    for taken, coding, opened in (
        ("gzip, deflate, br", "br", brotli.decompress),
        ("gzip", "gzip", gzip.decompress),
    ):
        with client.stream("GET", path, headers={"Accept-Encoding": taken}) as reply:
            sent = b"".join(reply.iter_raw())
            assert (reply.headers["content-encoding"], reply.headers["vary"]) == (
                coding,
                "Accept-Encoding",
            )
        assert opened(sent) == SCRIPT.removeprefix(COMMENT)
        assert len(sent) < len(SCRIPT) / 5
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers


def test_a_head_request_is_told_the_size_alone(client: TestClient, files: SiteFiles) -> None:
    for path, headers in (("/", BROWSER), (f"{files.address}/app.js", {})):
        whole, head = client.get(path, headers=headers), client.head(path, headers=headers)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.content))


def policy_of(client: TestClient) -> dict[str, str]:
    header = client.get("/", headers=BROWSER).headers["content-security-policy"]
    return dict(rule.split(" ", 1) for rule in header.split("; "))


def test_the_page_runs_its_own_files_and_calls_the_models_that_the_chat_knows(
    files: SiteFiles,
) -> None:
    policy = policy_of(serve(files, connect=("http://127.0.0.1:*", "https://models.example.org/")))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"].startswith("'self' 'sha256-")
    assert "unsafe" not in str(policy)
    assert "https://api.anthropic.com" in policy["connect-src"]
    assert policy["connect-src"].endswith(" http://127.0.0.1:* https://models.example.org")
    assert (
        policy_of(serve(files, chat=False, connect=("https://a.example",)))["connect-src"]
        == "'self'"
    )


@pytest.mark.parametrize(
    "wrong", ["models.example.org", "https://a.example; script-src *", "https://a b", "ftp://a.b"]
)
def test_an_address_that_is_no_origin_is_refused_with_its_name(tmp_path: Any, wrong: str) -> None:
    with pytest.raises(
        Exception, match=r"setting 'web\.connect'.*is not a scheme, a host and a port"
    ):
        load_settings({"STACKROOM_HOME": str(tmp_path), "STACKROOM_WEB_CONNECT": wrong})


def test_without_the_page_there_is_json_for_everybody(files: SiteFiles) -> None:
    client = serve(files, page=False)
    assert client.get("/", headers=BROWSER).json() == {"path": "/"}
    assert client.get(f"{files.address}/app.js").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("PATCH", "/c/games", {}, 405),
        ("GET", "/", {"Host": "evil.example"}, 421),
        ("GET", "/bug", {}, 500),
    ],
)
def test_another_error_is_json_for_everybody(
    client: TestClient, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    for accept in (BROWSER, {}):
        reply = client.request(method, path, headers={**headers, **accept})
        assert (reply.status_code, reply.headers["content-type"]) == (status, "application/json")
        assert set(reply.json()["error"]) == {"code", "message"}
        assert "secret" not in reply.text


@pytest.mark.parametrize("path", ["/favicon.ico", "/favicon.svg"])
def test_there_is_an_icon_for_browsers(client: TestClient, path: str) -> None:
    reply = client.get(path)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "image/svg+xml")


@pytest.mark.parametrize("path", ["/", "/nope", "/bug", "/c/games", "/favicon.ico"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_every_answer_has_the_headers_that_keep_browsers_safe(
    client: TestClient, path: str, accept: str
) -> None:
    headers = client.get(path, headers={"Accept": accept}).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers.get_list("content-security-policy")[0].startswith("default-src 'none'")
    assert len(headers.get_list("content-security-policy")) == 1
