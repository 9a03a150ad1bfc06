"""Documents → Markdown-like text: Markdown and plain text, HTML, DOCX, and PDF by `pdf_text`."""

import importlib
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.sources.text_lines import decode

MOST_UNPACKED_BYTES = 50_000_000
"""The largest decompressed size of a part; larger ones are refused as decompression bombs."""


@frozen
class Extracted:
    """The text of a file, with Markdown headings, and the title and tags that the file states."""

    text: str
    title: str = ""
    tags: tuple[str, ...] = ()


W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""A fallback copy of the content for older programs."""

_HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)
_SPACES = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
_DEEPEST = 6
_AROUND = frozenset({f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"})
"""Wrapper elements such as content controls; their children are read."""


def read_docx(content: bytes) -> Extracted:
    """Return the text and title of a document; refuse a damaged or password-protected file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            document = _part(archive, "word/document.xml")
            styles = _part(archive, "word/styles.xml").iter(f"{W}style")
            title = _part(archive, "docProps/core.xml").findtext(f".//{DC_TITLE}") or ""
        # ids are localised
        names = {style.get(f"{W}styleId", ""): style.find(f"{W}name") for style in styles}
        levels = {
            style: _level_of("" if name is None else name.get(f"{W}val", ""))
            for style, name in names.items()
        }
        body = document.find(f"{W}body")
        if body is None:
            raise InputError(
                "not a DOCX: the archive has no document; save it again, or as plain text"
            )
        return Extracted(
            text="\n\n".join(_blocks(body, levels)) + "\n", title=" ".join(title.split())
        )
    except RecursionError as error:
        raise InputError(
            "not a readable DOCX: its elements are nested too deeply; save it as plain text"
        ) from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
    ) as error:
        raise InputError(
            f"not a readable DOCX, or protected by a password ({error}); save it without one"
        ) from error
    except ElementTree.ParseError as error:
        raise InputError(
            f"not a readable DOCX ({error}); save it again, or as plain text"
        ) from error


def _part(archive: zipfile.ZipFile, name: str) -> Element:
    """Return a part of the archive; an empty element where it is missing."""
    if name not in archive.namelist():
        return Element("missing")
    if archive.getinfo(name).file_size > MOST_UNPACKED_BYTES:
        raise InputError(
            f"'{name}' in it decompresses to more than {MOST_UNPACKED_BYTES // 1_000_000} MB; split"
            " the file"
        )
    return ElementTree.fromstring(archive.read(name))


def _level_of(style: str) -> int:
    heading = _HEADING.fullmatch(style.strip())
    if heading:
        return min(int(heading[1]), _DEEPEST)
    return 1 if style.strip().lower() == "title" else 0


def _blocks(parent: Element, levels: Mapping[str, int]) -> Iterator[str]:
    """Yield the paragraphs and tables; consecutive items of a list are one block."""
    blocks = (_block(element, levels) for element in _within(parent, f"{W}p", f"{W}tbl"))
    for is_item, some in groupby(blocks, key=itemgetter(1)):
        texts = [text for text, _ in some if text]
        yield from ["\n".join(texts)] if is_item and texts else texts


def _within(parent: Element, *tags: str) -> Iterator[Element]:
    """Yield the elements with these tags in document order, also inside wrappers, but not nested in
    one another.
    """
    for element in parent:
        if element.tag in tags:
            yield element
        elif element.tag in _AROUND:
            yield from _within(element, *tags)


def _block(element: Element, levels: Mapping[str, int]) -> tuple[str, bool]:
    """Return the text of a paragraph or table, and whether it is a list item."""
    if element.tag == f"{W}tbl":
        rows = [
            [" ".join(_text(cell).split()) for cell in _within(row, f"{W}tc")]
            for row in _within(element, f"{W}tr")
        ]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in rows), False
    text = _text(element).strip()
    style = element.find(f"{W}pPr/{W}pStyle")
    style_id = "" if style is None else style.get(f"{W}val", "")
    level = levels.get(style_id) or _level_of(style_id)
    if level:
        return f"{'#' * level} {' '.join(text.split())}" if text else "", False
    is_item = element.find(f"{W}pPr/{W}numPr") is not None
    return f"- {' '.join(text.split())}" if text and is_item else text, is_item


def _text(element: Element) -> str:
    texts = []
    for child in element:
        if child.tag == f"{W}t":
            texts.append(child.text or "")
        elif child.tag in _SPACES:
            texts.append(_SPACES[child.tag])
        elif child.tag != FALLBACK:
            texts.append(f"{_text(child)}\n" if child.tag == f"{W}p" else _text(child))
    return "".join(texts)


SKIPPED = frozenset(str.split("script style nav noscript template svg select button iframe"))
BLOCKS = frozenset(
    str.split("""
    address article aside blockquote body dd details div dl dt fieldset figcaption figure footer
    form header hr html main ol p section summary table ul
    """)
)
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_CHARSET_WITHIN = 2_048
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
        return " ".join("".join(self._title).split())

    def handle_starttag(self, tag: str, _attrs: Sequence[tuple[str, str | None]]) -> None:
        """Begin a block, a cell, or a skipped element."""
        if self._skipping or tag in SKIPPED:
            self._skipping += [tag] if tag in SKIPPED else []
        elif tag == "title":
            self._in_title = True
        elif tag == "pre":
            self._end_line()
            self._in_code = True
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
        elif prefix or any(part.strip() for part in self._line):
            self._end_line()
            self._done.append("")
            self._prefix = prefix

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
        written = " ".join("".join(self._line).split())
        if written:
            self._done.append(f"{self._prefix}{written}{' |' if self._in_row else ''}")
        self._prefix = ""
        self._in_row = False
        self._line = []

    def _end_code(self) -> None:
        code = "".join(self._line).strip("\n")
        self._line = []
        self._in_code = False
        if code.strip():
            self._done += ["```", *code.split("\n"), "```", ""]


_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_ENTRY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_COMMENT = re.compile(r"\s+#.*$")
_BLOCK = re.compile(r"[|>][-+\d]*")  # indicators of a value that follows on the next lines


def read_markdown(content: bytes) -> Extracted:
    """Return Markdown with front matter blanked out, so that every line keeps its number."""
    text = decode(content)
    front = _FRONT_MATTER.match(text)
    matter = (front[1] or "") if front else ""
    first = next((line for line in matter.split("\n") if line.strip()), "#")
    if front is None or not (first.startswith("#") or _ENTRY.match(first)):
        return Extracted(text=text)
    entries = _entries(matter)
    return Extracted(
        text="\n" * front[0].count("\n") + text[front.end() :],
        title=" ".join(entries.get("title", ())),
        tags=tuple(dict.fromkeys(tag for tag in entries.get("tags", ()) if tag)),
    )


def _entries(matter: str) -> dict[str, list[str]]:
    """Return the entries of simple YAML: scalars, bracketed lists and item lists; nested entries
    are left out.
    """
    entries: dict[str, list[str]] = {}
    values: list[str] = []
    for line in matter.split("\n"):
        if entry := _ENTRY.match(line):
            values = entries[entry[1].lower()] = _values(entry[2])
        elif item := _ITEM.match(line):
            values.append(_plain(item[1]))
    return entries


def _values(written: str) -> list[str]:
    written = written.strip()
    if written.startswith("[") and written.endswith("]"):
        return [_plain(one) for one in written[1:-1].split(",")]
    plain = _plain(written)
    return [plain] if plain and not _BLOCK.fullmatch(plain) else []


def _plain(written: str) -> str:
    """Return a scalar without its quotes, or without the comment after it."""
    written = written.strip()
    if len(written) > 1 and written[0] in "\"'" and written[-1] == written[0]:
        return written[1:-1].strip()
    return _COMMENT.sub("", written)


PDF_READER = "stackroom.sources.pdf_text"  # loaded at the first PDF


def read_pdf(content: bytes) -> Extracted:
    """Return the text and title of a PDF."""
    text, title = importlib.import_module(PDF_READER).read_pdf(content)
    return Extracted(text=text, title=title)


FORMATS: Mapping[str, tuple[Callable[[bytes], Extracted], tuple[str, ...]]] = {
    "markdown": (read_markdown, (".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd")),
    "text": (lambda content: Extracted(text=decode(content)), (".txt", ".text")),
    "html": (read_html, (".html", ".htm", ".xhtml")),
    "pdf": (read_pdf, (".pdf",)),
    "docx": (read_docx, (".docx",)),
}
"""Format → the function that reads it, and its file suffixes."""
_FORMAT_OF = {suffix: name for name, (_, suffixes) in FORMATS.items() for suffix in suffixes}
KINDS = ", ".join(_FORMAT_OF)
NAMES = frozenset(
    str.split("readme changelog changes contributing history install news notes todo")
)
"""Names of files that are text although they have no suffix."""


def find_format(path: PurePath) -> str | None:
    """Return the format of a file by its suffix, or by its name without one; None where it is not
    supported.
    """
    if not path.suffix and path.name.lower() in NAMES:
        return "text"
    return _FORMAT_OF.get(path.suffix.lower())


def extract(content: bytes, file_format: str) -> Extracted:
    """Return the text of a file; refuse a damaged file and one without text."""
    extracted = FORMATS[file_format][0](content)
    if not extracted.text.strip():
        raise InputError("the file has no text; if it is a scan, run text recognition on it first")
    return extracted
