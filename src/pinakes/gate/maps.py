"""Maps through the gate: for callers who may read a catalogue, of the records that they may see."""

from collections.abc import Callable, Sequence
from typing import Any

from pinakes.gate.explore import read_page
from pinakes.gate.gate import CallContext, Gate
from pinakes.gate.quarantine import safe_structure
from pinakes.tools.catalogue import OpenCatalogue, choose_catalogue
from pinakes.tools.explore.explore import Reader
from pinakes.tools.maps.shown import MapQuestion, show_map, show_near, show_records


def read_map(gate: Gate, context: CallContext, name: str, question: MapQuestion) -> dict[str, Any]:
    """Return the map of a catalogue."""
    return _read(gate, context, name, lambda catalogue, reader: show_map(catalogue, reader.principal, question))


def read_map_records(gate: Gate, context: CallContext, name: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return records of a map as hits."""
    return _read(
        gate,
        context,
        name,
        lambda catalogue, reader: show_records(catalogue, reader.principal, reader.media, ids),
    )


def read_near(gate: Gate, context: CallContext, name: str, record_id: str, limit: int) -> dict[str, Any]:
    """Return the records nearest in meaning to one, wherever they are on the map."""
    return _read(
        gate,
        context,
        name,
        lambda catalogue, reader: show_near(catalogue, reader.principal, reader.media, record_id, limit=limit),
    )


def _read(
    gate: Gate, context: CallContext, name: str, work: Callable[[OpenCatalogue, Reader], dict[str, Any]]
) -> dict[str, Any]:
    def read(catalogues: tuple[OpenCatalogue, ...], reader: Reader) -> dict[str, Any]:
        shown: dict[str, Any] = safe_structure(work(choose_catalogue(catalogues, reader.principal, name), reader))
        return shown

    return read_page(gate, context, read)
