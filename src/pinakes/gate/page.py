"""Records and recommendations of the page through the gate: for callers who may search, of what they may see."""

from typing import Any

from pinakes.gate.explore import read_catalogue
from pinakes.gate.gate import CallContext, Gate
from pinakes.tools.page.record import show_record, show_similar
from pinakes.tools.page.taste import TasteQuestion, recommend_by_taste


def read_record(gate: Gate, context: CallContext, name: str, stated: str) -> dict[str, Any]:
    """Return a record with its fields and relations, and the call that edits it for those who may."""
    return read_catalogue(
        gate, context, name, lambda one, reader: show_record(one, reader.tools, reader.principal, reader.media, stated)
    )


def read_similar(gate: Gate, context: CallContext, name: str, stated: str) -> dict[str, Any]:
    """Return the records nearest in meaning to one."""
    return read_catalogue(
        gate, context, name, lambda one, reader: show_similar(one, reader.principal, reader.media, stated)
    )


def read_taste(gate: Gate, context: CallContext, name: str, question: TasteQuestion) -> dict[str, Any]:
    """Return what suits a taste."""
    return read_catalogue(
        gate,
        context,
        name,
        lambda one, reader: recommend_by_taste(one, reader.tools, reader.principal, reader.media, question),
    )
