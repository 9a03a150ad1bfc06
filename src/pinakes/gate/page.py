"""Records and recommendations of the page through the gate: for callers who may search, of what they may see."""

from collections.abc import Callable
from typing import Any

from pinakes.errors import ForbiddenError
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.principal import Action
from pinakes.tools.catalogue import OpenCatalogue, choose_catalogue
from pinakes.tools.media import CallerMedia
from pinakes.tools.page.record import show_record, show_similar
from pinakes.tools.page.taste import TasteQuestion, recommend_by_taste


def read_record(gate: Gate, context: CallContext, catalogue: str, stated: str) -> dict[str, Any]:
    """Return a record with its fields and relations, and the call that edits it for those who may."""
    principal = context.principal
    return _performed(
        gate,
        context,
        catalogue,
        lambda chosen, media: show_record(chosen, gate.list_tools(principal), principal, media, stated),
    )


def read_similar(gate: Gate, context: CallContext, catalogue: str, stated: str) -> dict[str, Any]:
    """Return the records nearest in meaning to one."""
    return _performed(
        gate, context, catalogue, lambda chosen, media: show_similar(chosen, context.principal, media, stated)
    )


def read_taste(gate: Gate, context: CallContext, catalogue: str, question: TasteQuestion) -> dict[str, Any]:
    """Return what suits a taste."""
    principal = context.principal
    return _performed(
        gate,
        context,
        catalogue,
        lambda chosen, media: recommend_by_taste(chosen, gate.list_tools(principal), principal, media, question),
    )


def _performed(
    gate: Gate, context: CallContext, catalogue: str, work: Callable[[OpenCatalogue, CallerMedia], dict[str, Any]]
) -> dict[str, Any]:
    """Run a read of one catalogue that the caller may see: limited and audited."""
    principal = context.principal

    def run() -> dict[str, Any]:
        if Action.ACCESS_CATALOG not in principal.actions:
            raise ForbiddenError("you may not read catalogues; an administrator can give you a role that may")
        toolbox = gate.toolbox_of(principal)
        chosen = choose_catalogue(toolbox.catalogues, principal, catalogue)
        return work(chosen, CallerMedia(principal, toolbox.media))

    return gate.perform(context, run)
