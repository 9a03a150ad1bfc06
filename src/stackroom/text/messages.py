"""Messages that may quote text of records: errors, notes, suggestions, the words of a spec that was inferred from data.

What such a text says to an assistant must not reach it as words of the server.
"""

from stackroom.text.instructions import find_instructions
from stackroom.text.safe import safe_line, safe_text

WITHHELD = "…"
LONGEST_QUOTE = 200
QUOTED_END = 80
"""How much is quoted of a text, and of its end where it is cut: an id may be there."""


def safe_message(text: str) -> str:
    """Return a message safe to show, with whatever in it reads like an instruction left out."""
    shown = safe_text(text)
    for span in reversed(find_instructions(shown)):
        shown = f"{shown[: span.start]}{WITHHELD}{shown[span.end :]}"
    return shown


def quoted(text: str) -> str:
    """Return a text of a record as a message quotes it: safe on one line, without its middle where it is long."""
    line = safe_line(text)
    if len(line) > LONGEST_QUOTE:
        line = f"{line[: LONGEST_QUOTE - QUOTED_END]}{WITHHELD}{line[-QUOTED_END:]}"
    return safe_message(line)
