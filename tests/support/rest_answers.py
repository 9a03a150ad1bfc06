"""REST answers held against the server's own OpenAPI document: an undocumented status or field
fails the test.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import httpx
import jsonschema
import orjson

JSON_TYPE = "application/json"
TRANSPORT_CODES = frozenset(
    {
        "no_host",
        "misdirected",
        "foreign_origin",
        "encoded_body",
        "too_large",
        "internal",
        "method_not_allowed",
    }
)
"""Errors that any request may be answered with, whatever its path."""

OF_FILES = (206, 304)
"""How a file is answered that is asked for in part, or is there already."""


class AnswerCheck:
    """Checks answers against a document, which is loaded at the first answer."""

    def __init__(self, load: Callable[[], Mapping[str, Any]]) -> None:
        self._load = load
        self._validators: dict[str, Any] = {}

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        return self._load()

    @cached_property
    def _paths(self) -> list[tuple[re.Pattern[str], Mapping[str, Any]]]:
        literal_first = sorted(
            self._document["paths"].items(),
            key=lambda item: ("{" in item[0], -len(re.sub(r"\{\w+\}", "", item[0]))),
        )
        return [
            (re.compile(re.sub(r"\\{\w+\\}", ".+", re.escape(path))), methods)
            for path, methods in literal_first
        ]

    def check(self, method: str, path: str, *, status: int, content_type: str, body: bytes) -> None:
        """Fail where a documented operation answers with another status, type or JSON than the
        document says.
        """
        operation = self._find_operation(method, path)
        is_json = content_type == JSON_TYPE and bool(body)
        if operation is None:
            return
        if is_json and status >= 400 and _error_code(body) in TRANSPORT_CODES:
            return
        usual = "default" if status >= 400 else "200" if status in OF_FILES else ""
        described = operation["responses"].get(str(status), operation["responses"].get(usual))
        assert described is not None, (
            f"{method} {path} answers {status}, which is not documented: {body[:300]!r}"
        )
        content = self._resolve(described).get("content", {})
        if JSON_TYPE in content and is_json:
            self._validate(content[JSON_TYPE]["schema"], body, f"{method} {path} {status}")
        else:
            undocumented = is_json and not any(name in ("*/*", JSON_TYPE) for name in content)
            assert not undocumented, (
                f"{method} {path} answers {status} with JSON, which is not documented"
            )

    def _find_operation(self, method: str, path: str) -> Mapping[str, Any] | None:
        wanted = "get" if method == "HEAD" else method.lower()
        found = next((methods for pattern, methods in self._paths if pattern.fullmatch(path)), {})
        operation: Mapping[str, Any] | None = found.get(wanted)
        return operation

    def _resolve(self, described: Mapping[str, Any]) -> Mapping[str, Any]:
        name = described.get("$ref", "").removeprefix("#/components/responses/")
        found: Mapping[str, Any] = (
            self._document["components"]["responses"][name] if name else described
        )
        return found

    def _validate(self, schema: Mapping[str, Any], body: bytes, where: str) -> None:
        key = orjson.dumps(schema).decode()
        if key not in self._validators:
            whole = {**schema, "components": self._document["components"]}
            self._validators[key] = jsonschema.Draft202012Validator(whole)
        problems = [
            f"{one.json_path}: {one.message}"
            for one in self._validators[key].iter_errors(orjson.loads(body))
        ]
        assert not problems, f"{where} is not as documented: {problems[:3]}"


def watch_answers(client: Any, load: Callable[[], Mapping[str, Any]]) -> None:
    """Check every answer that a client gets; streams and other types than JSON by their status
    alone.
    """
    checked = AnswerCheck(load)

    def check(response: Any) -> None:
        content_type = response.headers.get("content-type", "")
        body = response.read() if content_type == JSON_TYPE else b""
        request = response.request
        checked.check(
            request.method,
            request.url.path,
            status=response.status_code,
            content_type=content_type,
            body=body,
        )

    client.event_hooks = {"response": [check]}


def watched_client(url: str, headers: Mapping[str, str]) -> httpx.Client:
    """Return a client of a server whose answers are checked against the server's document for this
    caller.
    """
    # plain HTTP: load no CAs
    client = httpx.Client(base_url=url, headers=headers, timeout=120, verify=False)
    watch_answers(client, lambda: _load_document(url, headers))
    return client


def _load_document(url: str, headers: Mapping[str, str]) -> Any:
    """Return the document for this caller; for anybody, where the server does not know them."""
    reply = httpx.get(f"{url}/openapi.json", headers=headers, timeout=120, verify=False)
    return reply.json() if reply.is_success else _load_document(url, {})


def _error_code(body: bytes) -> str:
    return str(orjson.loads(body).get("error", {}).get("code"))
