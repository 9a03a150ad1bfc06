"""The graph for documents: measured once, kept for the processor, and measured again when that may
have changed.
"""

import json
from pathlib import Path

import pytest

from stackroom.embed import graph_choice
from stackroom.embed.graph_choice import (
    CHOICES_FILE,
    FLOAT_GRAPH,
    FLOAT_WEIGHTS,
    choose_graph,
    describe_cpu,
    load_choices,
)
from stackroom.embed.models import MINILM

pytestmark = pytest.mark.row("N12")

XEON = "model name : Xeon\nflags : fpu avx2\ncpu MHz : {mhz}\n\nmodel name : another\n"


class Machine:
    """A processor that takes the given times, and counts how often it is asked."""

    def __init__(self, folder: Path, *, ms_8: float, ms_32: float, cpu: str = "Xeon") -> None:
        self.folder, self.cpu = folder, cpu
        self.ms = {"graph.onnx": ms_8, FLOAT_GRAPH: ms_32}
        self.measured: list[str] = []

    def measure_ms(self, path: Path) -> float:
        assert path.name == "graph.onnx" or (self.folder / FLOAT_WEIGHTS).exists()
        self.measured.append(path.name)
        return self.ms[path.name]

    def choose(self, version: str = "1.31.1") -> int:
        return choose_graph(
            self.folder, MINILM, version=version, measure_ms=self.measure_ms, cpu=self.cpu
        )


@pytest.fixture(autouse=True)
def _unpack_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        graph_choice, "unpack_weights", lambda _packed, path: path.write_bytes(b"floats")
    )


@pytest.mark.parametrize(
    ("ms_8", "ms_32", "bits"), [(213.0, 137.0, 32), (50.0, 96.0, 8), (100.0, 95.0, 8)]
)
def test_32_bits_are_chosen_where_they_are_clearly_faster(
    tmp_path: Path, ms_8: float, ms_32: float, bits: int
) -> None:
    assert Machine(tmp_path, ms_8=ms_8, ms_32=ms_32).choose() == bits
    assert (tmp_path / FLOAT_WEIGHTS).exists() == (bits == 32)


def test_a_choice_is_kept_with_its_times_and_measured_again_with_another_version(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, ms_8=213.0, ms_32=137.0)
    assert [machine.choose() for _ in range(3)] == [32, 32, 32]
    assert machine.measured == ["graph.onnx", FLOAT_GRAPH]
    assert str(load_choices(tmp_path)["Xeon"]) == "32 bits (213 ms in 8, 137 ms in 32)"
    machine.ms["graph.onnx"] = 20.0
    assert machine.choose("1.32.0") == 8
    assert len(machine.measured) == 4
    assert not (tmp_path / FLOAT_WEIGHTS).exists()


def test_processors_sharing_a_folder_choose_each_and_one_keeps_the_weights_that_another_needs(
    tmp_path: Path,
) -> None:
    old, new = (
        Machine(tmp_path, ms_8=213.0, ms_32=137.0),
        Machine(tmp_path, ms_8=20.0, ms_32=60.0, cpu="Granite"),
    )
    assert (old.choose(), new.choose(), old.choose()) == (32, 8, 32)
    assert (tmp_path / FLOAT_WEIGHTS).exists()
    assert len(old.measured) == len(new.measured) == 2


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff", b'{"Xeon": 3}', b'{"Xeon": {"bits": 32}}']
)
def test_a_file_that_cannot_be_read_is_written_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CHOICES_FILE).write_bytes(content)
    machine = Machine(tmp_path, ms_8=213.0, ms_32=137.0)
    assert machine.choose() == 32
    assert list(json.loads((tmp_path / CHOICES_FILE).read_bytes())) == ["Xeon"]


def test_where_nothing_can_be_written_8_bits_are_used_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_packed: Path, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(graph_choice, "unpack_weights", fail)
    machine = Machine(tmp_path, ms_8=213.0, ms_32=137.0)
    assert machine.choose() == 8
    assert machine.measured == []
    assert [path.name for path in tmp_path.iterdir()] == [FLOAT_GRAPH]


def test_a_processor_is_known_by_name_and_features_and_not_by_its_present_pace(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(XEON.format(mhz=1000))
    first = describe_cpu(path)
    path.write_text(XEON.format(mhz=3000))
    assert describe_cpu(path) == first
    assert "Xeon" in first
    path.write_text(XEON.format(mhz=1000).replace("avx2", "avx2 avx512_vnni"))
    assert describe_cpu(path) != first
    assert describe_cpu(tmp_path / "missing")
