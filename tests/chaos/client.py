"""A caller of one of the servers, whichever is up: every answer is a success, a typed refusal,
unknown, or wrong.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from chaos.record import Record

CALL_TIMEOUT_S = 30
TYPED_STATUS = (400, 401, 403, 404, 409, 410, 413, 422, 429, 503)
"""Statuses of refusals that a server may give under a fault; 401 comes where the control database
is away.
"""
UNKNOWN = "unknown"
"""The outcome of a call whose answer never came: it may have been carried out or not."""


@dataclass(frozen=True)
class Answer:
    """An answer: its outcome is `ok`, the code of an error, or unknown."""

    outcome: str
    value: Any = None

    @property
    def is_ok(self) -> bool:
        """Whether the call was acknowledged."""
        return self.outcome == "ok"


class Caller:
    """Calls tools over REST in the name of one user."""

    def __init__(
        self, actor: str, token: str, find_url: Callable[[], str], record: Record, secret_text: str
    ) -> None:
        self.actor = actor
        self._find_url = find_url
        self._record = record
        self._secret_text = secret_text
        """Text that no answer may contain: the path of the library."""
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {token}"}, timeout=CALL_TIMEOUT_S
        )

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool."""
        return self.send("POST", f"/v1/tools/{tool}", json=arguments)

    def send(self, method: str, path: str, **options: Any) -> Answer:
        """Send a request, and note what came of it."""
        began = time.monotonic()
        try:
            reply = self._client.request(method, f"{self._find_url()}{path}", **options)
        except httpx.TimeoutException:
            self._record.blame(
                f"{self.actor}: {method} {path}: no answer within {CALL_TIMEOUT_S} s"
            )
            self._record.count(self.actor, UNKNOWN, CALL_TIMEOUT_S)
            return Answer(UNKNOWN)
        except httpx.TransportError:
            self._record.count(self.actor, UNKNOWN, time.monotonic() - began)
            return Answer(UNKNOWN)
        answer = self._read(f"{method} {path} {options.get('json', '')}"[:200], reply)
        self._record.count(self.actor, answer.outcome, time.monotonic() - began)
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _read(self, request: str, reply: httpx.Response) -> Answer:
        if self._secret_text in reply.text:
            self._record.blame(
                f"{self.actor}: {request}: the answer shows a path of the server:"
                f" {reply.text[:300]}"
            )
        try:
            value = reply.json() if "json" in reply.headers.get("content-type", "") else reply.text
        except ValueError:
            self._record.blame(
                f"{self.actor}: {request}: {reply.status_code}, not JSON: {reply.text[:200]}"
            )
            return Answer("not JSON")
        if reply.is_success:
            return Answer("ok", value)
        code = (
            str(value.get("error", {}).get("code")) if isinstance(value, dict) else "not an error"
        )
        if reply.status_code not in TYPED_STATUS or code in ("internal", "None", "not an error"):
            self._record.blame(f"{self.actor}: {request}: {reply.status_code} {reply.text[:300]}")
        if reply.status_code == 503 and "retry-after" not in reply.headers:
            self._record.blame(
                f"{self.actor}: {request}: 503 without Retry-After: {reply.text[:200]}"
            )
        return Answer(code, value)
