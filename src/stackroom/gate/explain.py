"""Explanations through the gate: for callers who may search, of what they may see, limited and audited."""

from dataclasses import replace
from typing import Any

from stackroom.errors import ForbiddenError
from stackroom.gate.gate import CallContext, Gate
from stackroom.generic.explain import ExplainedCall, explain_call
from stackroom.model.principal import Action
from stackroom.tools.catalogue import choose_catalogue


def explain(gate: Gate, context: CallContext, catalogue: str, question: ExplainedCall) -> dict[str, Any]:
    """Return why a record has its place in the answer of a search tool, or why it is not in it."""
    principal = context.principal
    named = gate.toolbox_of(principal).find_tool(question.tool) if question.tool else None
    if named is not None:
        context = replace(context, target=named.name)  # asked by its plain name, and audited by its own

    def work() -> dict[str, Any]:
        if Action.ACCESS_CATALOG not in principal.actions:
            raise ForbiddenError("you may not search catalogues; an administrator can give you a role that may")
        chosen = choose_catalogue(gate.toolbox_of(principal).catalogues, principal, catalogue)
        return explain_call(chosen, gate.list_tools(principal), principal, question)

    return gate.perform(context, work)
