"""Calls that are answered without the SDK: refused ones, those whose answer is cached, and reads
without a session.

The SDK makes tasks, queues and models for every request, which takes several times as long as such
an answer. Requests are checked by its own functions; one that does not plainly pass goes on to the
SDK, with what was begun of its call.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
from mcp import types
from mcp.types import methods
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from stackroom.gate.answer import Answer
from stackroom.gate.gate import Pending, tool_params
from stackroom.model.principal import Cost
from stackroom.model.record import Flag
from stackroom.serve.async_gate import AsyncGate
from stackroom.serve.hits_view import EXTENSION
from stackroom.tools.operation import Origin

CALL = "tools/call"
STRUCTURED = {"structuredContent"}
# the key in a refused call's `_meta` that says when to retry
RETRY_AFTER = "io.stackroom/retryAfterS"
# marks an answer that a client which shows views asked for; which clients do, the SDK knows
DRAWN = "drawn"
FLAGGED = "io.stackroom/flagged"
"""The key in the `_meta` of an answer or a resource that has the places whose text reads like an
instruction.
"""


def tool_result(answer: Answer) -> dict[str, Any]:
    """Return a `CallToolResult` as JSON values; the SDK checks it, and drops fields that the
    revision does not have.
    """
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": answer.text}],
        "isError": answer.error is not None,
        "resultType": "complete",
    }
    if answer.structured is not None:
        result["structuredContent"] = answer.structured
    if answer.error is not None and answer.error.retry_after_s is not None:
        result["_meta"] = {RETRY_AFTER: math.ceil(answer.error.retry_after_s)}
    if answer.flags:
        result["_meta"] = flagged(answer.flags)
    return result


def flagged(flags: Sequence[Flag]) -> dict[str, Any] | None:
    """Return the `_meta` of an answer with its flags; None without any."""
    return {FLAGGED: [flag.plain() for flag in flags]} if flags else None


class DirectCalls:
    """Answers calls as bytes."""

    def __init__(self, gate: AsyncGate, server_info: Mapping[str, Any]) -> None:
        """`server_info` describes the server in answers of the revisions without sessions."""
        self._gate = gate
        self._server_info = server_info

    async def answer(
        self,
        caller: Origin,
        message: types.JSONRPCMessage,
        revision: str,
        *,
        may_wait: bool = False,
    ) -> bytes | Pending[Answer] | None:
        """Return the answer to a message as JSON; or the call that was begun, for the SDK; None
        where none was.

        Where nothing else waits for it, a read is finished, unless its client shows views, which
        the SDK knows of.
        """
        if not isinstance(message, types.JSONRPCRequest) or message.method != CALL:
            return None
        params = message.params or {}
        if self._gate.find_loaded() is None:
            return None
        try:
            methods.validate_client_request(CALL, revision, params)
        except (KeyError, ValidationError):
            return None
        arguments = tool_params(params.get("arguments") or {})
        begun = await self._gate.begin(params["name"], caller, arguments)
        is_finished = (
            may_wait and begun.context.cost is Cost.READ and EXTENSION not in str(params["_meta"])
        )
        if is_finished and begun.work is not None:
            try:
                begun = replace(begun, work=None, answer=await self._gate.finish(begun))
            except Exception as error:  # for the SDK to say why
                begun = replace(begun, work=None, refusal=error)
        if begun.answer is not None and (is_finished or DRAWN not in begun.answer.encodings):
            with suppress(TypeError):  # an integer of more than 64 bits, or an unpaired surrogate
                result = self._encoded(begun.answer, revision)
                return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(message.id), result)
        return begun

    def _encoded(self, answer: Answer, revision: str) -> bytes:
        """Return the result of a call as JSON, which is kept with a cached answer."""
        kept = answer.encodings.get(revision)
        if kept is None:
            told = tool_result(answer)
            # nothing to check
            whole = {key: orjson.Fragment(answer.encoded) for key in STRUCTURED & told.keys()}
            result = (
                methods.serialize_server_result(CALL, revision, told | {key: {} for key in whole})
                | whole
            )
            if revision in MODERN_PROTOCOL_VERSIONS:
                result["_meta"] = {
                    **result.get("_meta", {}),
                    types.SERVER_INFO_META_KEY: self._server_info,
                }
            kept = answer.encodings[revision] = orjson.dumps(result)
        return kept
