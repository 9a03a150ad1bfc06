"""The Content-Security-Policy of the page: nothing runs, loads or connects but what is named here."""

import base64
import hashlib
import re
from collections.abc import Iterable

from stackroom.settings import WebSettings

CHAT_ADDRESSES = (
    "https://api.anthropic.com",
    "https://api.openai.com",
    "https://generativelanguage.googleapis.com",
    "https://openrouter.ai",
    "http://localhost:11434",
    "http://127.0.0.1:11434",
)
"""The language models that the chat can call from the browser; which of them is called, its user configures."""

_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)


def page_policy(page: str, settings: WebSettings) -> str:
    """Return the policy of the page; beside the files of the server, its import map is all that is allowed."""
    models = (*CHAT_ADDRESSES, *settings.connect) if settings.chat else ()
    return build_policy(
        {
            "default-src": ["'none'"],
            "script-src": ["'self'", *(hash_of(inline) for inline in _IMPORT_MAP.findall(page))],
            "style-src": ["'self'"],
            "img-src": ["'self'", "data:", "blob:"],
            "media-src": ["'self'"],
            "connect-src": ["'self'", *models],
            "base-uri": ["'none'"],
            "form-action": ["'none'"],
            "frame-ancestors": ["'none'"],
            "require-trusted-types-for": ["'script'"],
            "trusted-types": ["'none'"],
        }
    )


def build_policy(rules: dict[str, Iterable[str]]) -> str:
    """Return the header's value of these rules."""
    return "; ".join(f"{name} {' '.join(dict.fromkeys(values))}" for name, values in rules.items())


def hash_of(text: str) -> str:
    """Return the source expression that allows this inline text, and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
