"""Answers in JSON, and the one form that errors have."""

import math
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.responses import Response

from pinakes.errors import ExpectedError


class JSONReply(Response):
    """A value as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the value."""
        return orjson.dumps(content)


def error_reply(error: ExpectedError, headers: Mapping[str, str] | None = None) -> JSONReply:
    """Return a foreseen failure: its HTTP status, `{"error": {"code", "message"}}`, and when to come back."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    more = dict(headers or {})
    if error.retry_after_s is not None:
        body["retry_after_s"] = math.ceil(error.retry_after_s)
        more["Retry-After"] = str(math.ceil(error.retry_after_s))
    return JSONReply({"error": body}, status_code=error.http_status, headers=more)


def status_reply(status: int, code: str, message: str) -> JSONReply:
    """Return a refusal that has no error of ours, such as an unknown path."""
    return JSONReply({"error": {"code": code, "message": message}}, status_code=status)
