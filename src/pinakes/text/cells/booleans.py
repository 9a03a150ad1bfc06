"""Yes and no in the spellings of tables."""

from typing import Any

from pinakes.text.cells.texts import text_of

YES = frozenset(
    {"yes", "y", "true", "t", "ja", "j", "oui", "o", "si", "sí", "sì", "sim", "s", "x", "✓", "✔", "1", "on"}
)
NO = frozenset({"no", "n", "false", "f", "nein", "non", "nee", "não", "nao", "✗", "✘", "0", "off"})


def read_boolean(raw: Any) -> bool | None:
    """Return whether a cell says yes, or None: `yes`, `Y`, `true`, `ja`, `oui`, `x`, `1`, and their opposites."""
    if isinstance(raw, bool):
        return raw
    word = text_of(raw).casefold()
    return True if word in YES else False if word in NO else None
