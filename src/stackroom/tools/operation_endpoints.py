"""The REST endpoints of operations: path, query or body, result and refusals from one declaration."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from pydantic import create_model
from pydantic.alias_generators import to_camel

from stackroom.tools.endpoint import Endpoint, EndpointRequest
from stackroom.tools.operation import Operation, OperationCall
from stackroom.tools.problems import validate_fields
from stackroom.tools.spec import GenericParams

LARGEST_BODY = 64 * 1024
VARIABLE = re.compile(r"{(\w+)}")
WITHOUT_BODY = frozenset({"GET", "DELETE"})

MakeCall = Callable[[EndpointRequest[Any, Any]], OperationCall]


def operation_endpoints(operations: Iterable[Operation], make_call: MakeCall) -> list[Endpoint]:
    """Return the endpoints of those operations that have one; `make_call` returns the call of a request."""
    return [_endpoint(operation, make_call) for operation in operations if operation.rest]


def _endpoint(operation: Operation, make_call: MakeCall) -> Endpoint:
    method, path = operation.rest.split(" ")
    variables = VARIABLE.findall(path)
    given = _params_beside(operation.params, tuple(variables))
    has_body = method not in WITHOUT_BODY

    def run(request: EndpointRequest[Any, Any]) -> Any:
        sent = request.body if has_body else request.query
        values = sent.model_dump(exclude_unset=True) if sent is not None else {}
        return operation.perform(make_call(request), validate_fields(operation.params, {**values, **request.path}))

    run.__doc__ = operation.summary
    return Endpoint(
        method,
        path,
        run,
        tag="admin" if operation.actions else "account",
        operation_id=to_camel(operation.name.replace("/", "_")),
        operation=operation.name,
        path_parameters={one: operation.params.model_fields[one].description or "" for one in variables},
        query=None if has_body else given,
        body=given if has_body else None,
        max_body_bytes=LARGEST_BODY,
        result=operation.result,
        status=operation.status,
        refusals=(400, 403, 404, 409),
        needs_accounts=True,
        action=None,
        target=operation.target or None,
        cost=operation.cost,
        notes_parameters=True,
        is_secret=bool(operation.secret),
    )


@cache
def _params_beside(params: type[GenericParams], variables: tuple[str, ...]) -> type[GenericParams] | None:
    """Return the parameters that are not in the path; None if all of them are."""
    fields: dict[str, Any] = {
        name: (field.annotation, field) for name, field in params.model_fields.items() if name not in variables
    }
    return create_model(params.__name__, __base__=GenericParams, **fields) if fields else None
