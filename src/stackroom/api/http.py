"""The HTTP side of the public API: endpoints that are no tools, the files that they send, and the
rules of APIs that clients know from other servers.
"""

from collections.abc import Callable
from typing import Any

from stackroom.errors import UnauthenticatedError
from stackroom.model.principal import Action, Cost
from stackroom.tools.faces.rest import (
    ClientProtocol,
    GivenLogin,
    PageParams,
    TextReply,
    WholeNumber,
)
from stackroom.tools.media import MediaFile, MediaKind
from stackroom.tools.operation import Audit, Call, Needs, Operation, ParamsT, ResultT, addressed

__all__ = ["ClientProtocol", "GivenLogin", "MediaFile", "MediaKind", "PageParams", "TextReply"]
__all__ += ["UnauthenticatedError", "WholeNumber", "endpoint"]


def endpoint(
    address: str,
    status: int = 200,
    *,
    tag: str,
    action: Action | None = Action.ACCESS_CATALOG,
    is_public: bool = False,
    needs_accounts: bool = False,
    writes: bool = False,
    target: str = "",
    is_noted: bool = True,
    is_limited: bool = True,
    **face: Any,
) -> Callable[[Callable[[Call, ParamsT], ResultT]], Operation[ParamsT, ResultT]]:
    """Declare a function of a call and its parameters as an endpoint, and nothing else, such as
    `GET /v1/shelves/{id}`; it is named after the function, unless `name` is given.

    Without an action every authenticated caller may call it. One that needs accounts is not there
    on a server without them. The audit notes a call with the parameter `target`. `face` are
    `params`, `max_body_bytes`, `media_type`, `result_refusals` and `protocol`.
    """
    return addressed(
        address,
        status,
        tag=tag,
        needs=Needs(
            any_of=(action,) if action else (), is_public=is_public, accounts=needs_accounts
        ),
        cost=Cost.WRITE if writes else Cost.READ,
        audit=Audit(
            target=target, notes_parameters=False, is_noted=is_noted, is_limited=is_limited
        ),
        **face,
    )
