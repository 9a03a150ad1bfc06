"""What declarations of administrators share."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from stackroom.model.principal import Action, Cost
from stackroom.tools.operation import (
    OFF,
    Audit,
    Call,
    Command,
    Faces,
    Needs,
    Off,
    Operation,
    ParamsT,
    Rest,
    ResultT,
    operation,
)

ADMINISTERS = Needs(any_of=(Action.SERVER_ADMIN,), accounts=True)


def admin_operation(
    name: str,
    address: str = "",
    command: Command | Off = OFF,
    *,
    needs: Needs = ADMINISTERS,
    cost: Cost | None = None,
    **faces: Any,
) -> Callable[[Callable[[Call, ParamsT], ResultT]], Operation[ParamsT, ResultT]]:
    """Declare a function as an operation that is no tool by itself.

    Unless stated, it changes something where its address is not of a GET. The audit notes a change
    with its first parameter as the target. A POST to a list, which makes something, answers 201.
    """
    method, _, path = address.partition(" ")
    cost = cost or (Cost.READ if method in ("", "GET") else Cost.WRITE)
    rest = Rest(address, 201 if method == "POST" and "{" not in path else 200)

    def declare(run: Callable[[Call, ParamsT], ResultT]) -> Operation[ParamsT, ResultT]:
        declared = operation(name, needs=needs, cost=cost)(run)
        target = "" if declared.is_read else next(iter(declared.params.model_fields))
        surfaces = Faces(
            tool=OFF,
            rest=rest if address else OFF,
            command=command,
            audit=Audit(target=target),
            **faces,
        )
        return replace(declared, faces=surfaces)

    return declare
