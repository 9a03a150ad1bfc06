"""Maps through the gate: for callers who may read a catalogue, of the records that they may see."""

from collections.abc import Sequence
from typing import Any

from pinakes.gate.explore import read_catalogue
from pinakes.gate.gate import CallContext, Gate
from pinakes.tools.maps.shown import MapQuestion, show_map, show_near, show_records


def read_map(gate: Gate, context: CallContext, name: str, question: MapQuestion) -> dict[str, Any]:
    """Return the map of a catalogue."""
    return read_catalogue(
        gate, context, name, lambda catalogue, reader: show_map(catalogue, reader.principal, question)
    )


def read_map_records(gate: Gate, context: CallContext, name: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return records of a map as hits."""
    return read_catalogue(
        gate,
        context,
        name,
        lambda catalogue, reader: show_records(catalogue, reader.principal, reader.media, ids),
    )


def read_near(gate: Gate, context: CallContext, name: str, record_id: str, limit: int) -> dict[str, Any]:
    """Return the records nearest in meaning to one, wherever they are on the map."""
    return read_catalogue(
        gate,
        context,
        name,
        lambda catalogue, reader: show_near(catalogue, reader.principal, reader.media, record_id, limit=limit),
    )
