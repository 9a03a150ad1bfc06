"""The files that clients read, derived from a small library."""

import json
from typing import Any

import numpy as np
import pytest

from stackroom.errors import NotFoundError
from stackroom.model.principal import LOCAL_USER, Principal

pytestmark = [pytest.mark.model, pytest.mark.row("J6")]


def test_the_five_files_are_listed(judokon: Any) -> None:
    entries = judokon.gate.list_resources(LOCAL_USER).entries
    listed = {entry.uri: entry.mime_type for entry in entries if entry.uri.startswith("judokon://")}
    assert listed == {
        "judokon://judoka.json": "application/json",
        "judokon://client_embeddings.json": "application/json",
        "judokon://synonyms.json": "application/json",
        "judokon://offline_rag_vectors.bin": "application/octet-stream",
        "judokon://offline_rag_metadata.json": "application/json",
    }


def test_the_cards_are_in_the_layout_of_the_file_they_came_from(judokon: Any) -> None:
    published = json.loads((judokon.files / "judoka.json").read_text(encoding="utf-8"))
    served = {str(card["id"]): card for card in judokon.read("judoka.json")}
    assert len(served) == len(published)
    for card in published:
        assert served[str(card["id"])] == {**card, "cardCode": served[str(card["id"])]["cardCode"]}


def test_the_embeddings_are_in_the_form_with_model_dim_and_items(judokon: Any) -> None:
    document = judokon.read("client_embeddings.json")
    assert (document["model"], document["dim"]) == ("all-MiniLM-L6-v2", 384)
    items = {str(item["id"]): item for item in document["items"]}
    assert set(items) >= {"0", "ABEGENENOU_63", "rules-1", "technique:1"}
    assert all(len(item["embedding"]) == 384 for item in document["items"])
    assert items["rules-1"]["qaContext"] == "How do I score a point?"
    assert items["rules-1"]["version"] == 1


def test_the_synonyms_are_those_of_the_folder(judokon: Any) -> None:
    assert judokon.read("synonyms.json") == json.loads(
        (judokon.files / "synonyms.json").read_text(encoding="utf-8")
    )


def test_the_vectors_are_laid_out_as_their_metadata_says(judokon: Any) -> None:
    metadata = judokon.read("offline_rag_metadata.json")
    assert (metadata["dtype"], metadata["dim"], metadata["count"]) == ("float32", 384, 12)
    assert (
        len(metadata["ids"])
        == len(metadata["kinds"])
        == len(set(metadata["ids"]))
        == metadata["count"]
    )
    blob = judokon.read("offline_rag_vectors.bin")
    rows = np.frombuffer(blob, dtype="<f4").reshape(metadata["count"], metadata["dim"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-3)
    wanted = judokon.app.embedder.embed_query("How does one score points in a round?")
    assert metadata["ids"][int(np.argmax(rows @ wanted))] == "passage:rules-1"


def test_another_name_is_no_file_and_nobody_without_the_right_reads_any(judokon: Any) -> None:
    for name in ("installed.json", "../judoka.json", ""):
        with pytest.raises(NotFoundError):
            judokon.gate.read(LOCAL_USER, f"judokon://{name}")
    with pytest.raises(NotFoundError):
        judokon.gate.read(Principal(name="nobody", actions=frozenset()), "judokon://judoka.json")
