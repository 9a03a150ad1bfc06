"""HTML → Markdown-like text with headings, lists, tables and code; scripts and menus are left out."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser

from pinakes.sources.extract import Extracted
from pinakes.sources.text_encoding import decode

SKIPPED = frozenset({"script", "style", "nav", "noscript", "template", "svg", "select", "button", "iframe"})
BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset"),
        *("figcaption", "figure", "footer", "form", "header", "hr", "html", "main", "ol", "p", "section", "summary"),
        *("table", "ul"),
    }
)
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_CHARSET_WITHIN = 2_048
_SPACE = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"\n{3,}")


def read_html(content: bytes) -> Extracted:
    """Return the text of a page and its title."""
    declared = _CHARSET.search(content[:_CHARSET_WITHIN])
    parser = _TextParser()
    parser.feed(decode(content, declared=declared[1].decode("ascii") if declared else ""))
    parser.close()
    return Extracted(text=parser.text(), title=parser.title())


class _TextParser(HTMLParser):
    """Collects the text of a page; `_line` is the current line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._done: list[str] = []
        self._line: list[str] = []
        self._title: list[str] = []
        self._prefix = ""
        self._skipping: list[str] = []
        self._in_title = False
        self._in_code = False
        self._in_row = False

    def text(self) -> str:
        """Return the collected text, without runs of empty lines."""
        if self._in_code:
            self._end_code()
        self._end_line()
        return _BLANK_LINES.sub("\n\n", "\n".join(self._done)).strip("\n") + "\n"

    def title(self) -> str:
        """Return the page's title."""
        return _SPACE.sub(" ", "".join(self._title)).strip()

    def handle_starttag(self, tag: str, _attrs: Sequence[tuple[str, str | None]]) -> None:
        """Begin a block, a cell, or a skipped element."""
        if self._skipping or tag in SKIPPED:
            self._skipping += [tag] if tag in SKIPPED else []
        elif tag == "title":
            self._in_title = True
        elif tag == "pre":
            self._begin_code()
        elif tag in HEADINGS:
            self._begin_block(f"{HEADINGS[tag]} ")
        elif tag in ("td", "th"):
            self._line.append(" | ")
        elif tag in ("li", "tr"):
            self._end_line()
            self._prefix = "- " if tag == "li" else ""
            self._in_row = tag == "tr"
        elif tag == "br":
            self._break_line()
        elif tag in BLOCKS:
            self._begin_block()

    def handle_endtag(self, tag: str) -> None:
        """End the block, cell or skipped element."""
        if self._skipping:
            if tag in self._skipping:
                del self._skipping[self._skipping.index(tag) :]
        elif tag == "title":
            self._in_title = False
        elif tag == "pre":
            self._end_code()
        elif tag in ("li", "tr", "table"):
            self._end_line()
            self._done += [""] if tag == "table" else []
        elif tag in BLOCKS or tag in HEADINGS:
            self._begin_block()

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if self._skipping:
            return
        if self._in_title:
            self._title.append(data)
        else:
            self._line.append(data)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skip `<![…`; a malformed one is a comment, as in browsers."""
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:
            return self.parse_bogus_comment(i, report)

    def _begin_block(self, prefix: str = "") -> None:
        if self._in_row:
            self._line.append(" ")  # a row stays on one line, whatever its cells hold
        elif prefix or self._has_text():
            self._end_line()
            self._done.append("")
            self._prefix = prefix

    def _has_text(self) -> bool:
        return any(part.strip() for part in self._line)

    def _break_line(self) -> None:
        if self._in_code:
            self._line.append("\n")
        elif self._prefix or self._in_row:
            self._line.append(" ")  # headings, list items and rows stay on one line
        else:
            self._end_line()

    def _end_line(self) -> None:
        if self._in_code:
            return
        written = _SPACE.sub(" ", "".join(self._line)).strip()
        if written:
            self._done.append(f"{self._prefix}{written}{' |' if self._in_row else ''}")
        self._prefix = ""
        self._in_row = False
        self._line = []

    def _begin_code(self) -> None:
        self._end_line()
        self._in_code = True

    def _end_code(self) -> None:
        code = "".join(self._line).strip("\n")
        self._line = []
        self._in_code = False
        if code.strip():
            self._done += ["```", *code.split("\n"), "```", ""]
