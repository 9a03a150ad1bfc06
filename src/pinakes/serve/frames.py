"""Strict parsing of one JSON-RPC message: ambiguous or malformed messages are refused with the right error.

The SDK drops some malformed messages without an answer, so that their senders would wait for ever; and a duplicate key
may mean one thing here and another to a gateway in between.
"""

from typing import Any

from mcp import types

from pinakes.serve.strict_json import HALF_PAIR, StrictJSONError, decode_json, has_half_pair

MAX_FRAME_BYTES = 4 * 1024 * 1024
LONGEST_ID = 1_000
DEEPEST = 100
"""The deepest nesting of lists and objects; beyond it the SDK's parsers fail, each at its own depth."""


class BadFrameError(Exception):
    """A malformed message; `answer` is the error for its sender."""

    def __init__(self, code: int, message: str, request_id: types.RequestId | None = None) -> None:
        super().__init__(message)
        sayable = message.encode("utf-8", "replace").decode()  # it may quote half of a surrogate pair
        self.answer = types.JSONRPCError(
            jsonrpc="2.0", id=request_id, error=types.ErrorData(code=code, message=sayable)
        )

    @property
    def body(self) -> str:
        """The answer as JSON; its id is null where the message had no readable id."""
        return self.answer.model_dump_json(by_alias=True, exclude_none=self.answer.id is not None)


def read_frame(raw: bytes | str) -> types.JSONRPCMessage:
    """Parse a message for the SDK; raise BadFrameError where it is malformed."""
    decoded = _decoded(raw)
    try:
        return _kind_of(decoded).model_validate(decoded, by_name=False)
    except ValueError as error:
        raise BadFrameError(types.INVALID_REQUEST, "not a message of JSON-RPC 2.0", decoded.get("id")) from error


def _decoded(raw: bytes | str) -> dict[str, Any]:
    """Decode a single message of JSON-RPC 2.0; raise BadFrameError where it is not one."""
    decoded = _parsed(raw)
    if not isinstance(decoded, dict):
        kind = "batches are not taken" if isinstance(decoded, list) else "a message is an object"
        raise BadFrameError(types.INVALID_REQUEST, f"not a single JSON-RPC message: {kind}")
    request_id = _request_id(decoded)
    _require_version(decoded, request_id)
    _require_one_kind(decoded, request_id)
    if not isinstance(decoded.get("params", {}), dict):
        raise BadFrameError(types.INVALID_REQUEST, "'params' must be an object", request_id)
    return decoded


def _kind_of(decoded: dict[str, Any]) -> type[types.JSONRPCMessage]:
    """Return the type of a message: request, notification, response or error."""
    if "method" in decoded:
        return types.JSONRPCRequest if "id" in decoded else types.JSONRPCNotification
    return types.JSONRPCResponse if "result" in decoded else types.JSONRPCError


def _parsed(raw: bytes | str) -> Any:
    try:
        decoded, text = decode_json(raw)
    except StrictJSONError as error:
        raise BadFrameError(types.PARSE_ERROR, f"not valid JSON: {error}") from error
    if isinstance(decoded, dict):
        _require_shallow(text, decoded)
        if has_half_pair(decoded, text):
            message = "a text has half of a surrogate pair, which is no character"
            raise BadFrameError(types.INVALID_PARAMS, message, _request_id(decoded))
    return decoded


def _require_shallow(text: str, decoded: dict[str, Any]) -> None:
    """Refuse deep nesting; the depth is measured only where there are enough brackets for it."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    level: list[Any] = [decoded]
    for _ in range(DEEPEST):
        inner = (node.values() if isinstance(node, dict) else node for node in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return
    message = f"lists and objects stand more than {DEEPEST} deep within each other"
    raise BadFrameError(types.INVALID_REQUEST, message, _request_id(decoded))


def _request_id(decoded: dict[str, Any]) -> types.RequestId | None:
    """Return the id of a message, or None."""
    if "id" not in decoded:
        return None
    found = decoded["id"]
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise BadFrameError(types.INVALID_REQUEST, "'id' must be a text or a whole number")
    if isinstance(found, str) and (len(found) > LONGEST_ID or HALF_PAIR.search(found)):
        raise BadFrameError(types.INVALID_REQUEST, f"'id' is longer than {LONGEST_ID} characters, or no text")
    return found


def _require_version(decoded: dict[str, Any], request_id: types.RequestId | None) -> None:
    if decoded.get("jsonrpc") != "2.0":
        raise BadFrameError(types.INVALID_REQUEST, "'jsonrpc' must be \"2.0\"", request_id)


def _require_one_kind(decoded: dict[str, Any], request_id: types.RequestId | None) -> None:
    """Refuse a message that is not exactly one of request, notification and response."""
    has_method = "method" in decoded
    if has_method + ("result" in decoded) + ("error" in decoded) != 1:
        message = "a message has exactly one of 'method', 'result' and 'error'"
        raise BadFrameError(types.INVALID_REQUEST, message, request_id)
    if has_method and not isinstance(decoded["method"], str):
        raise BadFrameError(types.INVALID_REQUEST, "'method' must be a text", request_id)
    if not has_method and request_id is None:
        raise BadFrameError(types.INVALID_REQUEST, "an answer has an 'id'")
