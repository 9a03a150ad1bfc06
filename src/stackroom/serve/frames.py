"""Strict parsing of one JSON-RPC message: ambiguous or malformed messages are refused with the
right error.

The SDK drops some malformed messages without an answer, so that their senders would wait for ever;
and a duplicate key may mean one thing here and another to a gateway in between.
"""

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

import orjson
from mcp import types
from mcp.shared.inbound import unsupported_protocol_version_rejection
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

HALF_PAIR = re.compile("[\ud800-\udfff]")


class StrictJSONError(ValueError):
    """Invalid or ambiguous JSON."""


def decode_json(raw: bytes | str, *, is_finite: bool = False) -> tuple[Any, str]:
    """Return the value, and the decoded text; `is_finite` refuses numbers that overflow to
    infinity.
    """
    try:
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        return (_FINITE if is_finite else _ANY_SIZE).decode(text), text
    except StrictJSONError:
        raise
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except (ValueError, RecursionError):
        problem = "a number is too long, or it is nested too deeply"
    raise StrictJSONError(problem)  # out here, since the errors above keep the whole text alive


def has_half_pair(decoded: Any, text: str) -> bool:
    r"""Tell whether a string has an unpaired surrogate (`\ud83d` alone, as of a text cut within a
    character).
    """
    if r"\u" not in text or r"\ud" not in text.lower():
        return False
    return HALF_PAIR.search(json.dumps(decoded, ensure_ascii=False)) is not None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        doubled, _times = Counter(name for name, _value in pairs).most_common(1)[0]
        name = doubled[:80].encode("utf-8", "replace").decode()
        raise StrictJSONError(f"the key '{name}' is there twice; it could mean either")
    return found


def _no_constant(name: str) -> NoReturn:
    raise StrictJSONError(f"{name} is no number of JSON; send null")


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise StrictJSONError(f"the number {text[:20]} is too large; 1.7e308 is the greatest")
    return number


_ANY_SIZE = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant)
_FINITE = json.JSONDecoder(
    object_pairs_hook=_once_each, parse_constant=_no_constant, parse_float=_finite_number
)


MAX_FRAME_BYTES = 4 * 1024 * 1024
LONGEST_ID = 1_000
# the deepest nesting of lists and objects; beyond it the SDK's parsers fail, each at its own depth
DEEPEST = 100


class BadFrameError(Exception):
    """A malformed message; `answer` is the error for its sender."""

    def __init__(
        self,
        code: int,
        message: str,
        request_id: types.RequestId | None = None,
        *,
        data: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        # it may quote half of a surrogate pair
        sayable = message.encode("utf-8", "replace").decode()
        error = types.ErrorData(code=code, message=sayable, data=data)
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)

    @property
    def body(self) -> str:
        """The answer as JSON; its id is null where the message had no readable id."""
        told = self.answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        return orjson.dumps(
            {"jsonrpc": "2.0", "id": self.answer.id, "error": told["error"]}
        ).decode()


class UnaskedAnswerError(Exception):
    """An answer that is malformed, or that nobody waits for.

    It gets no answer itself: its sender may have a request of its own open under the same id.
    """


def read_frame(raw: bytes | str) -> types.JSONRPCMessage:
    """Parse a message for the SDK; raise BadFrameError, or UnaskedAnswerError for an answer, where
    it is malformed.
    """
    if len(raw) > MAX_FRAME_BYTES:
        raise BadFrameError(
            types.INVALID_REQUEST, f"a message is at most {MAX_FRAME_BYTES} bytes long"
        )
    decoded = _decoded(raw)
    kind: type[types.JSONRPCMessage] = (
        types.JSONRPCResponse if "result" in decoded else types.JSONRPCError
    )
    if "method" in decoded:
        kind = types.JSONRPCRequest if "id" in decoded else types.JSONRPCNotification
    try:
        return kind.model_validate(decoded, by_name=False)
    except ValueError as error:
        if "method" not in decoded:
            raise UnaskedAnswerError from error
        raise BadFrameError(
            types.INVALID_REQUEST, "not a message of JSON-RPC 2.0", decoded.get("id")
        ) from error


def _decoded(raw: bytes | str) -> dict[str, Any]:
    """Decode a single message of JSON-RPC 2.0; raise BadFrameError where it is not one."""
    try:
        decoded, text = decode_json(raw)
    except StrictJSONError as error:
        raise BadFrameError(types.PARSE_ERROR, f"not valid JSON: {error}") from error
    if not isinstance(decoded, dict):
        kind = "batches are not taken" if isinstance(decoded, list) else "a message is an object"
        raise BadFrameError(types.INVALID_REQUEST, f"not a single JSON-RPC message: {kind}")
    _require_shallow(text, decoded)
    request_id = _request_id(decoded)
    if has_half_pair(decoded, text):
        message = "a text has half of a surrogate pair, which is no character"
        raise BadFrameError(types.INVALID_PARAMS, message, request_id)
    if decoded.get("jsonrpc") != "2.0":
        raise BadFrameError(types.INVALID_REQUEST, "'jsonrpc' must be \"2.0\"", request_id)
    _require_one_kind(decoded, request_id)
    if "method" in decoded and not isinstance(decoded.get("params", {}), dict):
        raise BadFrameError(types.INVALID_REQUEST, "'params' must be an object", request_id)
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
        raise BadFrameError(
            types.INVALID_REQUEST, f"'id' is longer than {LONGEST_ID} characters, or no text"
        )
    return found


def _require_one_kind(decoded: dict[str, Any], request_id: types.RequestId | None) -> None:
    """Refuse a message that is not exactly one of request, notification and response."""
    has_method = "method" in decoded
    if has_method + ("result" in decoded) + ("error" in decoded) != 1:
        message = "a message has exactly one of 'method', 'result' and 'error'"
        is_answer = not has_method and ("result" in decoded or "error" in decoded)
        raise BadFrameError(types.INVALID_REQUEST, message, None if is_answer else request_id)
    if has_method and not isinstance(decoded["method"], str):
        raise BadFrameError(types.INVALID_REQUEST, "'method' must be a text", request_id)
    if not has_method and request_id is None:
        raise BadFrameError(types.INVALID_REQUEST, "an answer has an 'id'")


def require_served_revision(message: types.JSONRPCMessage) -> None:
    """Refuse a request that follows a revision of MCP that is not served; in a session the SDK says
    something else.
    """
    if not isinstance(message, types.JSONRPCRequest) or message.method == "initialize":
        return
    meta = (message.params or {}).get("_meta")
    asked = meta.get(types.PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    rejection = unsupported_protocol_version_rejection(asked) if isinstance(asked, str) else None
    if rejection is not None:
        served = ", ".join(MODERN_PROTOCOL_VERSIONS)
        words = f"this revision of MCP is not served; served by requests of their own: {served}"
        raise BadFrameError(rejection.code, words, message.id, data=rejection.data)
