"""The streams of five model providers, as they document them, from replies of a scripted model."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
GEMINI_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")

Refusal = tuple[int, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a tool, by the name that the provider was given."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None
    """The arguments as text, where the model writes something else than JSON."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer of the model; with a status the request is refused, with `fails` the stream has an
    error in it.
    """

    text: str = ""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    status: int | None = None
    error: str = ""
    fails: bool = False
    retry_after_s: int | None = None
    short: bool = False
    """Whether the model reaches its limit of length within the last thing that it says (told by
    Responses only).
    """
    cut: bool = False
    hold: bool = False


def dumped(value: Any) -> str:
    """Return JSON with letters as they are, so that characters of several bytes are in the
    stream.
    """
    return json.dumps(value, ensure_ascii=False)


def pieces(text: str, size: int = 5) -> Iterator[str]:
    """Cut a text."""
    return (text[start : start + size] for start in range(0, len(text), size))


def sse(events: Iterator[dict[str, Any]], *, end: str = "\n", named: bool = True) -> bytes:
    """Return events as a provider sends them, with their types as names where it names them."""
    heads = ((f"event: {one['type']}{end}" if named else "", one) for one in events)
    return "".join(f"{head}data: {dumped(one)}{end}{end}" for head, one in heads).encode()


def written(call: Call) -> str:
    """Return the arguments of a call as a model writes them; none at all for none."""
    return call.raw if call.raw is not None else dumped(dict(call.args)) if call.args else ""


class Protocol:
    """One provider's headers, rules and stream."""

    base = ""
    media_type = "text/event-stream"
    names = PLAIN_NAME

    def find_refusal(self, headers: Mapping[str, str], key: str) -> Refusal | None:
        """Return the refusal of a request without the right key."""
        given = {name.lower(): value for name, value in headers.items()}
        return None if self.has_key(given, key) else (401, self.error("invalid api key"))

    def has_key(self, headers: Mapping[str, str], key: str) -> bool:
        """Tell whether the headers have the key where this provider wants it."""
        return headers.get("authorization") == f"Bearer {key}"

    def find_mistake(self, path: str, body: Mapping[str, Any]) -> Refusal | None:
        """Return the refusal of a request that breaks a documented rule."""
        wrong = [name for name in self.tool_names(body) if not self.names.fullmatch(name)]
        mistakes = [f"invalid tool name {name}" for name in wrong] + list(self.mistakes(path, body))
        return (400, self.error("; ".join(mistakes))) if mistakes else None

    def tool_names(self, body: Mapping[str, Any]) -> list[str]:
        """Return the names of the tools that a request offers."""
        return [tool.get("function", tool)["name"] for tool in body.get("tools", [])]

    def mistakes(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        """Yield the rules that a request breaks."""
        raise NotImplementedError

    def error(self, message: str, reply: Reply | None = None) -> dict[str, Any]:
        """Return an error as the body of a refusal."""
        return {"error": {"message": message, "type": "error", "param": None, "code": None}}

    def stream(self, reply: Reply) -> bytes:
        """Return the whole stream of a reply."""
        raise NotImplementedError


class Anthropic(Protocol):
    """Messages."""

    def has_key(self, headers: Mapping[str, str], key: str) -> bool:
        given = {"x-api-key": key, "anthropic-dangerous-direct-browser-access": "true"}
        return {**given, "anthropic-version": "2026-10-21"}.items() <= headers.items()

    def mistakes(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        if not path.endswith("/v1/messages") or not body.get("stream") or "max_tokens" not in body:
            yield "a streamed request to /v1/messages needs max_tokens"
        if body.keys() & {"temperature", "top_p", "top_k"}:
            yield "temperature, top_p and top_k are not supported"
        before: list[str] = []
        for message in body["messages"]:
            blocks = message["content"]
            results = [one["tool_use_id"] for one in blocks if one["type"] == "tool_result"]
            if results != before or any("tool_use_id" not in one for one in blocks[: len(results)]):
                yield (
                    f"tool_use ids {before} need tool_result blocks right after, and first; found"
                    f" {results}"
                )
            for block in blocks:
                if block["type"] == "thinking" and not block.get("signature"):
                    yield "thinking block without its signature"
                if block["type"] == "text" and not block["text"]:
                    yield "text content blocks must be non-empty"
            before = [one["id"] for one in blocks if one["type"] == "tool_use"]

    def error(self, message: str, reply: Reply | None = None) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "overloaded_error", "message": message}}

    def stream(self, reply: Reply) -> bytes:
        return sse(self._events(reply), end="\r\n")

    def _events(self, reply: Reply) -> Iterator[dict[str, Any]]:
        yield {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "role": "assistant",
                "usage": {"input_tokens": 20, "output_tokens": 1},
            },
        }
        yield {"type": "ping"}
        blocks = [*self._spoken(reply), *self._used(reply)]
        for index, (block, deltas) in enumerate(blocks):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            yield from (
                {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas
            )
            if reply.fails:
                yield self.error(reply.error)
                return
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "new_event_of_next_year", "detail": 1}
        stop = "tool_use" if reply.calls else "end_turn"
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 7},
        }
        yield {"type": "message_stop"}

    def _spoken(self, reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        if reply.thought:
            told = [
                {"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thought)
            ]
            yield (
                {"type": "thinking", "thinking": "", "signature": ""},
                [*told, {"type": "signature_delta", "signature": "signed"}],
            )
        if reply.text:
            yield (
                {"type": "text", "text": ""},
                [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)],
            )

    def _used(self, reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
        for number, call in enumerate(reply.calls):
            deltas = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in pieces(written(call))
            ]
            yield (
                {"type": "tool_use", "id": f"toolu_{number}", "name": call.name, "input": {}},
                deltas,
            )


class OpenAIResponses(Protocol):
    """Responses."""

    base = "/v1"

    def mistakes(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        if (
            not path.endswith("/v1/responses")
            or body.get("store") is not False
            or "reasoning.encrypted_content" not in body.get("include", [])
        ):
            yield "a request that is not stored has to include reasoning.encrypted_content"
        if any(tool.get("strict") is not False for tool in body.get("tools", [])):
            yield "strict is missing"
        items = body["input"]
        called = [item["call_id"] for item in items if item.get("type") == "function_call"]
        answered = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        if called != answered:
            yield f"No tool output found for function call {called}; found {answered}"
        for item, after in pairwise([*items, {}]):
            if item.get("type") == "reasoning":
                if not item.get("encrypted_content"):
                    yield "reasoning without its encrypted content"
                if after.get("type") not in ("message", "function_call"):
                    yield "Item 'rs_1' was provided without its required following item"

    def stream(self, reply: Reply) -> bytes:
        numbered = enumerate(self._events(reply))
        return sse({**event, "sequence_number": number} for number, event in numbered)

    def _events(self, reply: Reply) -> Iterator[dict[str, Any]]:
        yield {"type": "response.created", "response": {"id": "resp_1", "output": []}}
        output = list(self._items(reply))
        for index, item in enumerate(output):
            place = {"item_id": item["id"], "output_index": index}
            yield {"type": "response.output_item.added", **place, "item": item}
            yield from self._deltas(item, reply, place)
            if reply.fails:
                yield {
                    "type": "response.failed",
                    "response": {"error": {"code": "rate_limit_exceeded", "message": reply.error}},
                }
                return
            yield {"type": "response.output_item.done", **place, "item": item}
        ended: dict[str, Any] = {
            "output": output,
            "usage": {"input_tokens": 20, "output_tokens": 7},
        }
        if reply.short:
            output[-1]["status"] = "incomplete"
            ended["incomplete_details"] = {"reason": "max_output_tokens"}
        yield {
            "type": f"response.{'incomplete' if reply.short else 'completed'}",
            "response": ended,
        }

    def _deltas(
        self, item: dict[str, Any], reply: Reply, place: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        kind, text = {
            "message": ("output_text", reply.text),
            "reasoning": ("reasoning_summary_text", reply.thought),
            "function_call": ("function_call_arguments", item.get("arguments", "")),
        }[item["type"]]
        for piece in pieces(text):
            yield {"type": f"response.{kind}.delta", **place, "content_index": 0, "delta": piece}

    def _items(self, reply: Reply) -> Iterator[dict[str, Any]]:
        if reply.thought:
            yield {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
        if reply.text:
            yield {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
            }
        for number, call in enumerate(reply.calls):
            yield {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": f"call_{number}",
                "name": call.name,
                "arguments": written(call),
                "status": "completed",
            }


class ChatCompletions(Protocol):
    """Chat Completions, as compatible servers speak it, some of which do not number calls."""

    base = "/v1"
    numbers_calls = False

    def mistakes(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        if not path.endswith("/chat/completions") or not body.get("stream"):
            yield "a streamed request to /chat/completions"
        open_calls: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                if not open_calls or message["tool_call_id"] != open_calls.pop(0):
                    yield f"tool message for {message['tool_call_id']} without its call"
            elif open_calls:
                yield f"tool_call_ids did not have response messages: {open_calls}"
            else:
                calls = message.get("tool_calls", [])
                open_calls = [call["id"] for call in calls]
                yield from (
                    "arguments must be a JSON object"
                    for call in calls
                    if not _is_object(call["function"])
                )

    def stream(self, reply: Reply) -> bytes:
        return sse(self._chunks(reply), named=False) + (b"" if reply.fails else b"data: [DONE]\n\n")

    def _chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        yield _choice({"role": "assistant", "content": ""})
        yield from self.thoughts(reply)
        yield from (_choice({"content": piece}) for piece in pieces(reply.text))
        if reply.fails:
            yield {
                **_choice({"content": ""}, "error"),
                "error": {"code": 502, "message": reply.error},
            }
            return
        for index, call in enumerate(reply.calls):
            number = {"index": index} if self.numbers_calls else {}
            begun = {
                **number,
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }
            yield _choice({"tool_calls": [begun]})
            yield from (
                _choice({"tool_calls": [{**number, "function": {"arguments": piece}}]})
                for piece in pieces(written(call))
            )
        yield _choice({}, "tool_calls" if reply.calls else "stop")
        yield {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 7}}

    def thoughts(self, reply: Reply) -> Iterator[dict[str, Any]]:
        """Yield the chunks of thoughts."""
        yield from (_choice({"reasoning_content": piece}) for piece in pieces(reply.thought))


class OpenRouter(ChatCompletions):
    """Chat Completions with comments in the stream, and details of thoughts that have to come
    back.
    """

    base = "/api/v1"
    numbers_calls = True

    def mistakes(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        yield from super().mistakes(path, body)
        for message in body["messages"]:
            for detail in message.get("reasoning_details", []):
                if (detail["text"], detail.get("signature")) != ("I ponder …", "signed"):
                    yield "reasoning details were changed"

    def stream(self, reply: Reply) -> bytes:
        return b": OPENROUTER PROCESSING\n\n" + super().stream(reply).replace(
            b"\n\ndata", b"\n\n: OPENROUTER PROCESSING\n\ndata", 2
        )

    def thoughts(self, reply: Reply) -> Iterator[dict[str, Any]]:
        """Yield the chunks of thoughts, with their details in pieces."""
        detail = {"type": "reasoning.text", "index": 0}
        for piece in pieces(reply.thought):
            told = {"reasoning": piece, "reasoning_details": [{**detail, "text": piece}]}
            yield _choice(told)
        if reply.thought:
            yield _choice({"reasoning_details": [{**detail, "signature": "signed"}]})


def _is_object(function: Mapping[str, Any]) -> bool:
    try:
        return isinstance(json.loads(function["arguments"]), dict)
    except json.JSONDecodeError:
        return False


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "gen-1",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


class Gemini(Protocol):
    """streamGenerateContent."""

    base = "/v1beta"
    names = GEMINI_NAME

    def has_key(self, headers: Mapping[str, str], key: str) -> bool:
        return headers.get("x-goog-api-key") == key

    def tool_names(self, body: Mapping[str, Any]) -> list[str]:
        return [
            tool["name"]
            for group in body.get("tools", [])
            for tool in group["functionDeclarations"]
        ]

    def mistakes(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        if not path.endswith(":streamGenerateContent?alt=sse"):
            yield "a streamed request ends in :streamGenerateContent?alt=sse"
        called: list[tuple[str, str]] = []
        for content in body["contents"]:
            answered = [
                (part["functionResponse"].get("id"), part["functionResponse"]["name"])
                for part in content["parts"]
                if "functionResponse" in part
            ]
            if answered != called:
                yield f"function responses {answered} do not match the calls {called}"
            for part in content["parts"]:
                if not isinstance(part.get("functionResponse", {}).get("response", {}), dict):
                    yield "response must be an object"
                if part.get("text") == "" and "thoughtSignature" not in part:
                    yield "empty text"
            calls = [part for part in content["parts"] if "functionCall" in part]
            if calls and calls[0].get("thoughtSignature") != "signed":
                yield "Function call is missing a thought_signature"
            called = [
                (part["functionCall"].get("id"), part["functionCall"]["name"]) for part in calls
            ]

    def error(self, message: str, reply: Reply | None = None) -> dict[str, Any]:
        wait = reply.retry_after_s if reply else None
        details = (
            [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait}s"}]
            if wait
            else []
        )
        return {
            "error": {
                "code": reply.status if reply else 400,
                "message": message,
                "status": "FAILED",
                "details": details,
            }
        }

    def stream(self, reply: Reply) -> bytes:
        return sse(self._chunks(reply), end="\r\n", named=False)

    def _chunks(self, reply: Reply) -> Iterator[dict[str, Any]]:
        yield from (
            _candidate([{"text": piece, "thought": True}]) for piece in pieces(reply.thought)
        )
        yield from (_candidate([{"text": piece}]) for piece in pieces(reply.text))
        if reply.fails:
            yield {"error": {"code": 503, "message": reply.error, "status": "UNAVAILABLE"}}
            return
        calls: list[dict[str, Any]] = [
            {"functionCall": {"id": f"fc-{number}", "name": call.name, "args": dict(call.args)}}
            for number, call in enumerate(reply.calls)
        ]
        if calls:
            calls[0]["thoughtSignature"] = "signed"
            yield _candidate(calls)
        yield {
            **_candidate([{"text": ""}], "STOP"),
            "usageMetadata": {
                "promptTokenCount": 20,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 2,
            },
        }


def _candidate(parts: list[dict[str, Any]], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {"candidates": [{**candidate, "finishReason": finish} if finish else candidate]}


class Ollama(Protocol):
    """/api/chat."""

    media_type = "application/x-ndjson"

    def has_key(self, headers: Mapping[str, str], key: str) -> bool:
        return True

    def mistakes(self, path: str, body: Mapping[str, Any]) -> Iterator[str]:
        if not path.endswith("/api/chat") or body.get("options", {}).get("num_ctx", 0) < 16_384:
            yield "the list of tools does not fit into num_ctx"
        called: list[str] = []
        for message in body["messages"]:
            if message["role"] == "tool":
                if not called or message.get("tool_name") != called.pop(0):
                    yield f"no call for the result of {message.get('tool_name')}"
            else:
                called = [call["function"]["name"] for call in message.get("tool_calls", [])]

    def error(self, message: str, reply: Reply | None = None) -> dict[str, Any]:
        return {"error": message}

    def stream(self, reply: Reply) -> bytes:
        return "".join(f"{dumped(line)}\n" for line in self._lines(reply)).encode()

    def _lines(self, reply: Reply) -> Iterator[dict[str, Any]]:
        yield from (_line(thinking=piece) for piece in pieces(reply.thought))
        yield from (_line(content=piece) for piece in pieces(reply.text))
        if reply.fails:
            yield {"error": reply.error}
            return
        for call in reply.calls:
            yield _line(
                tool_calls=[{"function": {"name": call.name, "arguments": dict(call.args)}}]
            )
        yield {
            **_line(),
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 20,
            "eval_count": 7,
        }


def _line(**message: Any) -> dict[str, Any]:
    return {
        "model": "llama-test:8b",
        "message": {"role": "assistant", "content": "", **message},
        "done": False,
    }


PROTOCOLS: Mapping[str, Protocol] = {
    "anthropic": Anthropic(),
    "openai": OpenAIResponses(),
    "compatible": ChatCompletions(),
    "google": Gemini(),
    "ollama": Ollama(),
    "openrouter": OpenRouter(),
}
