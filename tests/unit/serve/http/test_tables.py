"""`/v1/tables`: who may add tables, and what of it is audited."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackroom.admin.uploads import Uploads
from stackroom.assembly.app import App
from stackroom.settings import Settings

pytestmark = pytest.mark.row("N13")

BEGIN = {"file": "plays.csv", "size_bytes": 10}


@pytest.fixture
def tables(tmp_path: Path) -> Uploads:
    return Uploads(App(Settings(home=tmp_path)))


def test_administrators_alone_add_tables_and_what_changes_something_is_audited(
    make_site: Callable[..., Any], tables: Uploads
) -> None:
    site = make_site(operations=tables.operations())
    site.add_user()
    site.add_user("root", "admin")
    refused = site.client.post("/v1/tables", json=BEGIN, headers=site.token())
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert site.client.get("/v1/tables").status_code == 401
    assert site.client.get("/v1/tables", headers=site.token()).status_code == 403

    root = site.token("root")
    begun = site.client.post("/v1/tables", json=BEGIN, headers=root)
    assert (begun.status_code, site.last_note().operation, site.last_note().target) == (
        201,
        "tables/begin_table",
        "plays.csv",
    )
    noted, at = len(site.notes.entries), f"/v1/tables/{begun.json()['id']}"
    sent = site.client.put(f"{at}/content?offset=0", content=b"a,b\n1", headers=root)
    assert (sent.status_code, sent.json()["received"]) == (200, 5)
    assert site.client.get(at, headers=root).json()["state"] == "receiving"
    assert site.client.get("/v1/tables", headers=root).json()["max_bytes"] == 200_000_000
    assert len(site.notes.entries) == noted
    assert site.client.delete(at, headers=root).status_code == 204
    assert site.last_note().operation == "tables/discard_table"
    assert site.client.get(at, headers=root).status_code == 404


def test_a_token_for_some_catalogues_neither_adds_tables_nor_finds_out_which_names_are_taken(
    make_site: Callable[..., Any], tables: Uploads
) -> None:
    site = make_site(operations=tables.operations())
    site.add_user("root", "admin")
    begun = site.client.post("/v1/tables", json=BEGIN, headers=site.token("root")).json()
    at = f"/v1/tables/{begun['id']}"
    confined = site.token("root", catalogues=["anime"])
    for method, path, body in (
        ("GET", "/v1/tables", None),
        ("POST", "/v1/tables", BEGIN),
        ("GET", at, None),
        ("DELETE", at, None),
    ):
        answer = site.client.request(method, path, json=body, headers=confined)
        assert (answer.status_code, "confined to catalogues" in answer.text) == (403, True), (
            answer.text
        )
    assert site.client.get(at, headers=site.token("root")).status_code == 200
