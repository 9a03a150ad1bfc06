"""The graph that embeds documents on this machine: in 8 bits, or in 32 where that is faster, as
measured once.

8-bit products are fast where the processor has dot products of bytes. Both graphs are of the same
weights, so that their vectors can be compared. The choice is kept beside the model for each
processor, and made again with another version of onnxruntime. Queries always use 8 bits, so that
their top ten do not depend on the machine.
"""

import json
import logging
import os
import platform
import zlib
from collections.abc import Callable
from dataclasses import asdict
from importlib import resources
from pathlib import Path

from stackroom.embed.encoder_layout import unpack_weights
from stackroom.embed.models import LocalModel
from stackroom.frozen import frozen
from stackroom.net.files import open_like

logger = logging.getLogger(__name__)

CHOICES_FILE = "graphs.json"
FLOAT_GRAPH = "graph-32.onnx"
FLOAT_WEIGHTS = "weights-32.bin"
# how many times as fast 32 bits must be: they take 43 MB of disk and 40 MB of memory
LEAST_GAIN = 1.1

CPU_FILE = Path("/proc/cpuinfo")
CPU_NAMES, CPU_FEATURES = ("model name", "CPU implementer", "CPU part"), ("flags", "Features")


@frozen
class GraphChoice:
    """The time that each graph takes for the same text on a processor, by a version of
    onnxruntime.
    """

    onnxruntime: str
    ms_8: float
    ms_32: float

    @property
    def bits(self) -> int:
        """The bits of the chosen graph."""
        return 32 if self.ms_32 * LEAST_GAIN < self.ms_8 else 8

    def __str__(self) -> str:
        """Return the choice with its reason."""
        return f"{self.bits} bits ({self.ms_8:.0f} ms in 8, {self.ms_32:.0f} ms in 32)"


def describe_cpu(path: Path = CPU_FILE) -> str:
    """Return the name of the processor, with a checksum of its features, since a virtual machine
    may hide some.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}".strip()
    values = {
        name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    names = [values[name] for name in CPU_NAMES if name in values]
    features = " ".join(values.get(name, "") for name in CPU_FEATURES)
    return " ".join([platform.machine(), *names, f"{zlib.crc32(features.encode()):08x}"])


def load_choices(folder: Path) -> dict[str, GraphChoice]:
    """Return the choices by processor; none where the file cannot be read."""
    try:
        choices = json.loads((folder / CHOICES_FILE).read_bytes())
        return {cpu: GraphChoice(**choice) for cpu, choice in choices.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def choose_graph(
    folder: Path,
    model: LocalModel,
    *,
    version: str,
    measure_ms: Callable[[Path], float],
    cpu: str = "",
) -> int:
    """Return the bits of the graph for documents: as chosen before, or else measured and kept.

    Where the folder cannot be written, 8 bits are chosen and nothing is kept.
    """
    cpu = cpu or describe_cpu()
    choice = load_choices(folder).get(cpu)
    if choice is None or choice.onnxruntime != version:
        try:
            floats = float_graph(folder, model)
            ms_8, ms_32 = measure_ms(folder / "graph.onnx"), measure_ms(floats)
            choice = GraphChoice(onnxruntime=version, ms_8=ms_8, ms_32=ms_32)
            _keep_choice(folder, cpu, choice)
        except OSError as error:
            logger.info("the graphs of %s are not compared: %s", model.name, error)
            return 8
        logger.info("%s: documents in %s", model.name, choice)
    return choice.bits


def _keep_choice(folder: Path, cpu: str, choice: GraphChoice) -> None:
    """Add a choice to the file, and delete the 32-bit weights where nobody chose them."""
    choices = {**load_choices(folder), cpu: choice}
    content = json.dumps({name: asdict(made) for name, made in choices.items()}, indent=1)
    _replace(folder / CHOICES_FILE, lambda path: path.write_text(content))
    if all(made.bits == 8 for made in choices.values()):
        (folder / FLOAT_WEIGHTS).unlink(missing_ok=True)


def float_graph(folder: Path, model: LocalModel) -> Path:
    """Return the 32-bit graph; its weights are unpacked on first use."""
    if not (folder / FLOAT_WEIGHTS).is_file():
        graph = (
            resources.files("stackroom.embed")
            .joinpath(f"encoder-{model.pooling}-32.onnx")
            .read_bytes()
        )
        _replace(folder / FLOAT_GRAPH, lambda path: path.write_bytes(graph))
        _replace(folder / FLOAT_WEIGHTS, lambda path: unpack_weights(folder / "weights.bin", path))
    return folder / FLOAT_GRAPH


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under another name and move it into place, so that it is complete or absent."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        write(fresh)
        open_like(fresh, path.parent)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
