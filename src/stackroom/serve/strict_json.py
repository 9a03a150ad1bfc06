"""Strict JSON decoding: duplicate keys, NaN and other ambiguous or unportable input are refused with the reason."""

import json
import math
import re
from collections import Counter
from typing import Any, NoReturn

HALF_PAIR = re.compile("[\ud800-\udfff]")


class StrictJSONError(ValueError):
    """Invalid or ambiguous JSON."""


def decode_json(raw: bytes | str, *, is_finite: bool = False) -> tuple[Any, str]:
    """Return the value, and the decoded text; `is_finite` refuses numbers that overflow to infinity."""
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
    r"""Tell whether a string has an unpaired surrogate (`\ud83d` alone, as of a text cut within a character)."""
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
    raise StrictJSONError(f"{name} is no number of JSON")


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise StrictJSONError(f"the number {text[:20]} is too large")
    return number


_ANY_SIZE = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant)
_FINITE = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant, parse_float=_finite_number)
