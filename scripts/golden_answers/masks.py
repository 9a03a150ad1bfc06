"""What varies by nature between two recordings, and why: the only values that are not compared."""

import json
import re
from collections.abc import Iterable
from typing import Any

FIELDS = {
    "ms": "a duration",
    "elapsed_ms": "a duration",
    "last_s": "a duration",
    "uptime_s": "a duration",
    "retry_after_s": "seconds until a limit is over",
    "retryAfterS": "seconds until a limit is over",
    "io.stackroom/retryAfterS": "seconds until a limit is over",
    "call_id": "made by chance for each call",
    "one_time_password": "a secret",
    "secret": "a secret",
    "token": "a secret",
    "expires_in_days": "counted from today",
    "pid": "of a process",
    "digest": "of an answer, which has timestamps and ids made by chance",
    "bytes": "of an answer, whose timestamps and durations are longer or shorter",
    "hash": "of a row of the audit, which has its time",
    "head": "of the audit, whose rows have their times",
    "free_bytes": "of a disk that others use too",
    "process": "of a process",
    "streams": "how many are open, of which some end late",
    "calls_in_flight": "how many run, of which some end late",
    "verified": "rows of the audit, where waiting adds some",
    "number": "of a row of the audit, where waiting adds some",
}
"""Fields whose value is masked wherever they are, unless it is null: name → reason."""

PATTERNS = (
    (r"stk_[a-z]+_[A-Za-z0-9_-]{8,}", "a secret"),
    (r"(?<!has_)one_time_password: \S+", "a secret"),
    (r"\b20\d{6}T\d{6}Z\b", "a moment"),
    (r"(?<=from before )\d{4}-\d\d-\d\d", "counted from today"),
    (r"\b(\d+:)?[0-9a-f]{64}\b", "a head of the audit: how many rows, and a hash over their times"),
    (r"\b[0-9a-f]{16}\b(?!/)", "the id of a call or playlist, made by chance"),
    (r"\b[0-9a-f]{12}\b", "the id of a token or table, made by chance"),
    (r"\b\d+(\.\d+)? ms\b", "a duration"),
    (r'(?<="uptime_s":)[\d.]+', "a duration"),
    (r"(?<=\bms: )[\d.]+", "a duration"),
    (r'(?<="process":)\d+', "of a process"),
    (r'(?<="streams":)\d+', "how many are open, of which some end late"),
    (r'(?<="calls_in_flight":)\d+', "how many run, of which some end late"),
    (r"\b(retry|try again|again) in \d+ s(econds?)?\b", "seconds until a limit is over"),
    (r"(?<=number: )\d+(?=; at:)", "of a row of the audit, where waiting adds rows"),
    (r"(?<=audit's )\d+(?= rows)", "of a row of the audit, where waiting adds rows"),
    (r'(?<="verified":)\d+', "of a row of the audit, where waiting adds rows"),
)
"""What is masked in texts: pattern → reason."""

MOMENT = re.compile(
    r"\b(20\d\d-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?(?: UTC)?)?"
)
"""A moment; masked from the day on which the library was built, since older ones are data."""


class Mask:
    """Masks answers; `first_day` is when the library was built, `known` texts of this run."""

    def __init__(self, first_day: str, known: dict[str, str]) -> None:
        self._first_day = first_day
        self._known = dict(known)
        self._patterns = [(re.compile(pattern), reason) for pattern, reason in PATTERNS]

    def learn(self, text: str, reason: str) -> None:
        """Mask a text from now on, such as a path or a secret."""
        if text:
            self._known[text] = reason

    def apply(self, value: Any, field: str = "", *, of_audit: bool = False) -> Any:
        """Return a value with everything masked that varies by nature."""
        if (
            field in FIELDS
            and (field != "number" or of_audit)
            and value is not None
            and not isinstance(value, bool)
        ):
            return f"<{FIELDS[field]}>"
        if isinstance(value, dict):
            is_row = "operation" in value
            return {
                self._text(name): self.apply(inner, name, of_audit=is_row)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self.apply(inner) for inner in value]
        if isinstance(value, int) and str(value) in self._known:
            return f"<{self._known[str(value)]}>"
        return self._string(value) if isinstance(value, str) else value

    def _string(self, text: str) -> str:
        """Mask a text; one that is JSON is masked by its fields as well."""
        if text[:1] in ("{", "["):
            try:
                read = json.loads(text)
            except ValueError:
                return self._text(text)
            for dump in (_dense, _spaced):
                if dump(read) == text:
                    return dump(self.apply(read))
        return self._text(text)

    def _text(self, text: str) -> str:
        for known in sorted(self._known, key=len, reverse=True):
            if known in text:
                text = text.replace(known, f"<{self._known[known]}>")
        text = MOMENT.sub(self._moment, text)
        for pattern, reason in self._patterns:
            text = pattern.sub(f"<{reason}>", text)
        return text

    def _moment(self, found: re.Match[str]) -> str:
        return "<a moment>" if found[1] >= self._first_day else found[0]


def shape(value: Any) -> Any:
    """Return the form of a value, for answers that are made by chance: types in place of values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return _distinct(map(shape, value))
    return type(value).__name__


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _dense(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _spaced(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
