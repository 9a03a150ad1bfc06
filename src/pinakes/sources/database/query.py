"""Queries to a database server: one SELECT without side effects.

This is for a clear message at once. What a server runs is also confined by the transaction, which is read-only, and by
the driver, which sends one statement at a time (see `server`).
"""

import re

from pinakes.errors import InputError

TEXTS = {
    "postgresql": re.compile(
        r"""--[^\n]* | /\*.*?\*/ | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ | \be'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*'
        | "(?:[^"]|"")*" """,
        re.DOTALL | re.IGNORECASE | re.VERBOSE,
    ),
    "mysql": re.compile(
        r"""--(?=\s|\Z)[^\n]* | \#[^\n]* | /\*.*?\*/ | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*` """,
        re.DOTALL | re.VERBOSE,
    ),
}
"""Comments, texts and quoted names, which may have any words in them."""
SELECTION = re.compile(r"\s*\(*\s*(select|with|values|table)\b", re.IGNORECASE)
CHANGING = re.compile(r"\b(into|insert|update|delete)\b(?!\s*\()|\bfor\s+(share|no\s+key|key\s+share)\b", re.IGNORECASE)
ACTING = re.compile(
    r"\b(pg_(?:terminate|cancel)_backend|pg_(?:try_)?advisory_\w+|pg_sleep\w*|pg_notify|pg_reload_conf|pg_rotate_logfile"
    r"|pg_switch_wal|pg_create_\w+|pg_drop_\w+|pg_file_\w+|pg_logical_\w+|set_config|dblink\w*|lo_\w+"
    r"|nextval|setval|get_lock|release_(?:all_)?locks?|sleep|benchmark)\s*\(",
    re.IGNORECASE,
)
"""Functions that do something, which a read-only transaction does not always refuse."""
RUN_COMMENT = re.compile(r"/\*M?!")
"""A comment that MySQL and MariaDB run."""
TO_FILE = re.compile(r"\binto\s+(outfile|dumpfile)\b", re.IGNORECASE)


def require_selection(query: str, *, kind: str, place: str) -> None:
    """Refuse a query that is not a single SELECT, or has side effects."""
    plain = TEXTS[kind].sub(" ", query).rstrip("; \t\r\n")
    if not SELECTION.match(plain) or ";" in plain or RUN_COMMENT.search(query):
        raise InputError(f"{place}: the query must be one SELECT statement")
    found = TO_FILE.search(query) or CHANGING.search(plain) or ACTING.search(plain)
    if found:
        raise InputError(f"{place}: the query must only read; '{found[0].rstrip('( ')}' does more than that")
