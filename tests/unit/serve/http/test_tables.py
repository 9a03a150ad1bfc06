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
    assert site.by_token().post("/v1/tables", json=BEGIN).status_code == 403
    site.add_user("root", "admin")
    root = site.by_token("root")
    begun = root.post("/v1/tables", json=BEGIN)
    assert (begun.status_code, site.last_note().operation, site.last_note().target) == (
        201,
        "tables/begin_table",
        "plays.csv",
    )
    noted, at = len(site.notes.entries), f"/v1/tables/{begun.json()['id']}"
    sent = root.put(f"{at}/content?offset=0", content=b"a,b\n1")
    assert (sent.status_code, sent.json()["received"]) == (200, 5)
    assert root.get(at).json()["state"] == "receiving"
    assert root.get("/v1/tables").json()["max_bytes"] == 200_000_000
    assert len(site.notes.entries) == noted
    assert root.delete(at).status_code == 204
    assert site.last_note().operation == "tables/discard_table"
    assert root.get(at).status_code == 404


def test_a_token_for_some_catalogues_neither_adds_tables_nor_finds_out_which_names_are_taken(
    make_site: Callable[..., Any], tables: Uploads
) -> None:
    site = make_site(operations=tables.operations())
    site.add_user("root", "admin")
    begun = site.by_token("root").post("/v1/tables", json=BEGIN).json()
    at = f"/v1/tables/{begun['id']}"
    confined = site.by_token("root", catalogues=["anime"])
    for method, path, body in (
        ("GET", "/v1/tables", None),
        ("POST", "/v1/tables", BEGIN),
        ("GET", at, None),
        ("DELETE", at, None),
    ):
        answer = confined.request(method, path, json=body)
        assert (answer.status_code, "confined to catalogues" in answer.text) == (403, True), (
            answer.text
        )
    assert site.by_token("root").get(at).status_code == 200
