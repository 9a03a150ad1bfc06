"""Lightweight markup → Markdown-like text: MDX, reStructuredText, Org and AsciiDoc.

Headings and code blocks become those of Markdown; what only steers a renderer is blanked out. Every line keeps its
number.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from pinakes.sources.extract import Extracted
from pinakes.sources.markdown_text import read_markdown
from pinakes.sources.text_encoding import decode

DEEPEST = 6
FENCE = "```"

_FENCED = re.compile(r"^([ \t]*(?:```|~~~)[^\n]*\n.*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z))", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"^import\s++(?:[^'\";]{1,600}?\bfrom\s+)?['\"][^'\"\n]+['\"];?[ \t]*$", re.MULTILINE)
_EXPORT = re.compile(
    r"^export\s+(?:const|let|var|default|function|async|\*|\{)[^\n]*(?:\n[^\n#\s][^\n]*|\n[ \t]+\S[^\n]*)*", re.M
)
_JSX_COMMENT = re.compile(r"\{/\*[^{}]*\*/\}")
_JSX_TAG = re.compile(r"</?(?:[A-Z][\w.]*|[a-z][\w.]*(?=\s+[\w-]+=\{))(?:\s[^<>]*)?/?>|</?>", re.DOTALL)
_JSX_TITLE = re.compile(r"\b(?:title|label|summary|question|alt)=(?:\"([^\"]*)\"|'([^']*)')")


def read_mdx(content: bytes) -> Extracted:
    """Return MDX without imports, exports and the tags of components; titles in the tags are kept."""
    found = read_markdown(content)
    parts = _FENCED.split(found.text)  # every second part is a fenced block
    parts[::2] = [_without_components(part) for part in parts[::2]]
    return Extracted(text="".join(parts), title=found.title, tags=found.tags)


def _without_components(text: str) -> str:
    for pattern, replaced in ((_IMPORT, _blank), (_EXPORT, _blank), (_JSX_COMMENT, _blank), (_JSX_TAG, _titled)):
        text = pattern.sub(replaced, text)
    return text


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _titled(match: re.Match[str]) -> str:
    titles = [one or other for one, other in _JSX_TITLE.findall(match[0])]
    return " ".join(titles) + _blank(match)


_RST_RULE = re.compile(r"([!-/:-@\[-`{-~])\1{2,}\s*")
_RST_TARGET = re.compile(r"\s*\.\. (?:_[^:]+:.*|\|[^|]+\|.*|(?:toctree|contents|image|raw|meta|index)::.*)")
_HASH = re.compile(r"^ {0,3}#(?=#{0,5} )")
_RST_CODE = re.compile(r"(\s*)\.\. (?:code-block|code|sourcecode|highlight)::\s*(\S*).*")


def read_rst(content: bytes) -> Extracted:
    """Return reStructuredText; the levels of headings are those of their underlines, in order of appearance."""
    lines = decode(content).split("\n")
    marks: list[str] = []
    at = 0
    while at < len(lines):
        at += _read_rst_heading(lines, at, marks) or _read_rst_line(lines, at)
    return Extracted(text="\n".join(lines))


def _read_rst_heading(lines: list[str], at: int, marks: list[str]) -> int:
    """Turn the heading at a line into one of Markdown; return its number of lines, 0 where there is none."""
    has_overline = _is_rule(lines[at]) and at + 2 < len(lines) and lines[at + 2].rstrip() == lines[at].rstrip()
    title_at = at + 1 if has_overline else at
    under = lines[title_at + 1] if title_at + 1 < len(lines) else ""
    title = lines[title_at].strip()
    is_title = bool(title) and not _is_rule(lines[title_at]) and (has_overline or lines[title_at][:1].strip())
    if not is_title or not _is_rule(under) or len(under.rstrip()) < len(title):
        return 0
    mark = f"{'over' if has_overline else ''}{under[0]}"
    if mark not in marks:
        marks.append(mark)
    count = 3 if has_overline else 2
    lines[at : at + count] = [""] * count
    lines[title_at] = f"{'#' * min(marks.index(mark) + 1, DEEPEST)} {title}"
    return count


def _is_rule(line: str) -> bool:
    return _RST_RULE.fullmatch(line) is not None


def _read_rst_line(lines: list[str], at: int) -> int:
    """Blank out a directive that says nothing, and keep a hash from being a heading; return the number of lines."""
    is_silent = _RST_TARGET.fullmatch(lines[at]) or _RST_CODE.fullmatch(lines[at])
    lines[at] = "" if is_silent else _HASH.sub(r"\\\g<0>", lines[at])
    return 1


_ORG_HEADING = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(.*?)(?:[ \t]+:[\w@:]+:)?[ \t]*")
_ORG_BEGIN = re.compile(r"\s*#\+begin_(?:src|example)\b[ \t]*(\S*).*", re.IGNORECASE)
_ORG_END = re.compile(r"\s*#\+end_(?:src|example)\s*", re.IGNORECASE)
_ORG_KEYWORD = re.compile(r"\s*#(?:\+(\w+):?[ \t]*(.*)|[ \t].*|)")
_ORG_DRAWER = re.compile(r"\s*:(?:PROPERTIES|LOGBOOK|END|[A-Z_]+):.*")


def read_org(content: bytes) -> Extracted:
    """Return an Org file, its title and its file tags."""
    lines = decode(content).split("\n")
    stated: dict[str, str] = {}
    for line in lines:
        keyword = _ORG_KEYWORD.fullmatch(line)
        if keyword and keyword[1] and keyword[2]:
            stated.setdefault(keyword[1].lower(), keyword[2].strip())
    return Extracted(
        text="\n".join(_converted(lines, _org_line, begins=_ORG_BEGIN, ends=lambda line, _begun: _is_org_end(line))),
        title=stated.get("title", ""),
        tags=tuple(tag for tag in stated.get("filetags", "").split(":") if tag.strip()),
    )


def _is_org_end(line: str) -> bool:
    return _ORG_END.fullmatch(line) is not None


def _org_line(line: str) -> str:
    if heading := _ORG_HEADING.fullmatch(line):
        return f"{'#' * min(len(heading[1]), DEEPEST)} {heading[2]}"
    is_silent = _ORG_KEYWORD.fullmatch(line) or _ORG_DRAWER.fullmatch(line)
    return "" if is_silent else line


_ADOC_HEADING = re.compile(r"(={1,6})[ \t]+(.+?)(?:[ \t]+=+)?[ \t]*")
_ADOC_DELIMITER = re.compile(r"(?:-{4,}|\.{4,}|`{3,}\S*)\s*")
_ADOC_SILENT = re.compile(r"(?://.*|:[\w!-]+:.*|\[[^\]]*\]|\|={3,}|={4,}|\*{4,}|_{4,}|\+{4,}|include::.*)\s*")


def read_asciidoc(content: bytes) -> Extracted:
    """Return an AsciiDoc file."""
    lines = decode(content).split("\n")
    return Extracted(text="\n".join(_converted(lines, _adoc_line, begins=_ADOC_DELIMITER, ends=_is_same_mark)))


def _adoc_line(line: str) -> str:
    if heading := _ADOC_HEADING.fullmatch(line):
        return f"{'#' * len(heading[1])} {heading[2]}"
    return "" if _ADOC_SILENT.fullmatch(line) else line


def _is_same_mark(line: str, begun: str) -> bool:
    return line.rstrip() == begun.rstrip().rstrip("abcdefghijklmnopqrstuvwxyz")


def _converted(
    lines: Sequence[str],
    convert: Callable[[str], str],
    *,
    begins: re.Pattern[str],
    ends: Callable[[str, str], bool],
) -> Iterator[str]:
    """Yield converted lines; those of a code block stay as they are. `ends` has a line and the one that began it."""
    begun: str | None = None
    for line in lines:
        if begun is None and begins.fullmatch(line):
            begun = line
            yield FENCE
        elif begun is not None and ends(line, begun):
            begun = None
            yield FENCE
        else:
            yield convert(line) if begun is None else line
