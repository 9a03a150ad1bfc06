"""What declarations of administrators share."""

from typing import Any

from pydantic import Field

from stackroom.model.principal import Action
from stackroom.tools.operation import OFF, Audit, Command, Faces, Needs, Off, Rest

ADMINISTERS = Needs(any_of=(Action.SERVER_ADMIN,), accounts=True)


def optional(description: str, **bounds: Any) -> Any:
    """Return a parameter that may be left out, and is null then."""
    return Field(default=None, description=description, **bounds)


def admin_faces(
    rest: str = "",
    command: Command | Off = OFF,
    *,
    status: int = 200,
    target: str = "",
    **more: Any,
) -> Faces:
    """Return the faces of an operation that is no tool by itself; the audit notes its target."""
    return Faces(
        tool=OFF,
        rest=Rest(rest, status) if rest else OFF,
        command=command,
        audit=Audit(target=target),
        **more,
    )
