"""The local model on this machine: batches by tokens, on several threads, in the order of the
texts.
"""

import shutil
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackroom.embed import encoder
from stackroom.embed.encoder import (
    CPU,
    CUDA,
    MANY_TEXTS,
    MAX_TOKENS,
    Encoder,
    _share,
    find_provider,
    pack_batches,
)
from stackroom.embed.models import MINILM
from stackroom.embed.weights import FLOAT_WEIGHTS, check_model, model_folder
from stackroom.errors import ModelError

pytestmark = pytest.mark.row("N12")

COREML = "CoreMLExecutionProvider"
LENGTHS = st.lists(st.integers(1, MAX_TOKENS), max_size=60)


@given(lengths=LENGTHS, most_tokens=st.integers(1, 600))
def test_every_text_is_in_one_batch_and_no_batch_has_too_many_padded_tokens(
    lengths: Sequence[int], most_tokens: int
) -> None:
    batches = pack_batches(lengths, most_tokens=most_tokens)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= most_tokens


def test_work_is_shared_between_as_many_threads_as_are_allowed() -> None:
    together = threading.Barrier(3)
    waiting = deque(range(3))
    seen: set[str] = set()

    def work() -> None:
        while waiting:
            waiting.popleft()
            together.wait(timeout=120)  # nobody goes on before three have something to do
            seen.add(threading.current_thread().name)

    _share(work, waiting, threads=3)
    assert len(seen) == 3
    assert threading.current_thread().name in seen


def test_an_interrupted_call_leaves_what_waits_undone() -> None:
    waiting = deque(range(1000))

    def work() -> None:
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        while waiting:
            waiting.popleft()

    with pytest.raises(KeyboardInterrupt):
        _share(work, waiting, threads=1)
    with pytest.raises(KeyboardInterrupt):
        _share(work, waiting, threads=2)
    assert not waiting


def test_a_failure_of_a_helper_is_raised() -> None:
    together = threading.Barrier(2)
    waiting = deque(range(2))

    def work() -> None:
        together.wait(timeout=120)
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("of a helper")

    with pytest.raises(ValueError, match="of a helper"):
        _share(work, waiting, threads=2)


@pytest.mark.model
def test_vectors_come_in_the_order_of_the_texts_whatever_their_length_and_the_number_of_threads(
    models_folder: Path,
) -> None:
    texts = [
        f"story {number} " + "of a dragon and a very long war " * (number * 7 % 11)
        for number in range(24)
    ]
    folder = model_folder(models_folder)
    alone = Encoder(folder, MINILM, threads=1)
    one_by_one = np.concatenate([alone.embed_documents([text]) for text in texts])
    for threads in (1, 3):
        rows = Encoder(folder, MINILM, threads=threads).embed_documents(texts)
        assert (rows * one_by_one).sum(axis=1).min() > 0.998
    assert alone.embed_documents([]).shape == (0, MINILM.id.dimension)


@pytest.mark.parametrize(
    ("device", "available", "provider"),
    [
        ("auto", [CPU], None),
        ("auto", [CUDA, CPU], CUDA),
        ("auto", [COREML, CPU], None),  # it lacks half of the operations: only where it is named
        ("cpu", [CUDA, CPU], None),
        ("cuda", [CUDA, CPU], CUDA),
        ("coreml", [COREML, CPU], COREML),
    ],
)
def test_a_device_is_used_where_onnxruntime_has_it(
    device: str, available: list[str], provider: str | None
) -> None:
    assert find_provider(device, available) == provider


@pytest.mark.model
def test_a_named_device_that_is_missing_is_refused_with_what_to_install_and_queries_go_on(
    models_folder: Path,
) -> None:
    named = Encoder(model_folder(models_folder), MINILM, device="cuda")
    with pytest.raises(
        ModelError, match=r"no CUDAExecutionProvider \(for cuda: .* pip install onnxruntime-gpu"
    ):
        named.embed_documents(["a text"])
    assert named.embed_query("a text").shape == (MINILM.id.dimension,)


@pytest.fixture
def folder(models_folder: Path, tmp_path: Path) -> Path:
    """A model folder of its own, without the weights in 32 bits."""
    folder = tmp_path / MINILM.name
    shutil.copytree(model_folder(models_folder), folder, ignore=shutil.ignore_patterns("*-32.*"))
    return folder


TEXTS = [f"story {number} of a dragon" for number in range(MANY_TEXTS)]


@pytest.mark.model
@pytest.mark.parametrize("is_fast_in_8_bits", [True, False])
def test_both_graphs_give_nearly_the_same_vectors_and_other_processors_embed_many_texts_in_32_bits(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_fast_in_8_bits: bool
) -> None:
    monkeypatch.setattr(encoder, "multiplies_bytes", lambda: is_fast_in_8_bits)
    made = Encoder(folder, MINILM)
    few = made.embed_documents(TEXTS[:-1])
    assert not (folder / FLOAT_WEIGHTS).exists()
    many = made.embed_documents(TEXTS)
    assert (folder / FLOAT_WEIGHTS).exists() != is_fast_in_8_bits
    cosines = (few * many[:-1]).sum(axis=1)
    assert cosines.min() > 0.998
    assert cosines.mean() > 0.999
    assert check_model(folder) == []
