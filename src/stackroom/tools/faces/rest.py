"""An operation as an endpoint: its address, and where a request has each parameter."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic.alias_generators import to_camel

from stackroom.tools.endpoint import EndpointSpec
from stackroom.tools.operation import AnyOperation, Rest, params_beside

VARIABLE = re.compile(r"{(\w+)(?::\w+)?}")
WITHOUT_BODY = frozenset({"GET", "DELETE"})


@dataclass(frozen=True)
class OperationEndpoint(EndpointSpec):
    """The endpoint of an operation."""

    declared: AnyOperation = field(kw_only=True)


def operation_endpoints(operations: Iterable[AnyOperation]) -> list[OperationEndpoint]:
    """Return the endpoints of those operations that have an address of their own."""
    return [
        _endpoint(operation, operation.faces.rest)
        for operation in operations
        if isinstance(operation.faces.rest, Rest)
    ]


def _endpoint(operation: AnyOperation, face: Rest) -> OperationEndpoint:
    method, path = face.address.split(" ")
    variables = tuple(VARIABLE.findall(path))
    params: Any = operation.params
    beside = params_beside(params, variables) if variables else params
    has_body = method not in WITHOUT_BODY
    return OperationEndpoint(
        method,
        path,
        operation.run,
        summary=operation.summary,
        tag=face.tag or ("admin" if operation.needs.any_of else "account"),
        operation_id=face.operation_id or to_camel(operation.name.replace("/", "_")),
        operation=operation.name,
        path_parameters={
            name: operation.params.model_fields[name].description or "" for name in variables
        },
        query=None if has_body else beside,
        body=beside if has_body else None,
        max_body_bytes=face.max_body_bytes,
        result=None if operation.result is type(None) else operation.result,
        status=face.status,
        media_type=face.media_type,
        result_refusals=face.result_refusals,
        is_public=operation.needs.is_public,
        needs_accounts=operation.needs.accounts,
        declared=operation,
    )
