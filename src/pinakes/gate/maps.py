"""Maps through the gate: for callers who may read a catalogue, of the records that they may see."""

from collections.abc import Callable, Sequence
from typing import Any

from pinakes.errors import ForbiddenError
from pinakes.gate.gate import CallContext, Gate
from pinakes.gate.quarantine import safe_structure
from pinakes.model.principal import Action
from pinakes.tools.catalogue import OpenCatalogue, choose_catalogue
from pinakes.tools.maps.shown import MapQuestion, show_map, show_near, show_records
from pinakes.tools.media import CallerMedia


def read_map(gate: Gate, context: CallContext, catalogue: str, question: MapQuestion) -> dict[str, Any]:
    """Return the map of a catalogue."""
    return _performed(gate, context, catalogue, lambda chosen, _media: show_map(chosen, context.principal, question))


def read_map_records(gate: Gate, context: CallContext, catalogue: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return records of a map as hits."""
    return _performed(
        gate, context, catalogue, lambda chosen, media: show_records(chosen, context.principal, media, ids)
    )


def read_near(gate: Gate, context: CallContext, catalogue: str, record_id: str, limit: int) -> dict[str, Any]:
    """Return the records nearest in meaning to one, wherever they are on the map."""
    return _performed(
        gate,
        context,
        catalogue,
        lambda chosen, media: show_near(chosen, context.principal, media, record_id, limit=limit),
    )


def _performed(
    gate: Gate, context: CallContext, catalogue: str, work: Callable[[OpenCatalogue, CallerMedia], dict[str, Any]]
) -> dict[str, Any]:
    principal = context.principal

    def run() -> dict[str, Any]:
        if Action.ACCESS_CATALOG not in principal.actions:
            raise ForbiddenError("you may not read catalogues; an administrator can give you a role that may")
        toolbox = gate.toolbox_of(principal)
        chosen = choose_catalogue(toolbox.catalogues, principal, catalogue)
        shown: dict[str, Any] = safe_structure(work(chosen, CallerMedia(principal, toolbox.media)))
        return shown

    return gate.perform(context, run)
