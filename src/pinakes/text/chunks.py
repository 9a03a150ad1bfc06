"""Chunking of documents into passages of about two hundred words, with their headings and lines.

Headings are those of Markdown. A passage is a contiguous part of the text; within a section it overlaps the previous
one by a sentence or two. Words are counted by spaces or by six characters, whichever gives more, so that scripts
without spaces are split as well.

text → blocks (headings, prose, code and tables) → sections (under one heading) → stretches (sections that a passage
may span) → pieces (never split) → passages
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

MOST_WORDS = 220
"""The limit beyond which a passage with enough words takes no further piece."""

ENOUGH_WORDS = 110
"""The minimum length of a passage that a heading of level 3 or deeper, or a piece beyond the limit, may end."""

MOST_CHARS = 2_400
"""The longest block of code or table that is kept whole, and the limit on the length of a passage."""

TINY_WORDS = 30
"""A shorter part before a deeper heading joins what follows; a shorter rest of a section joins what precedes."""

LONGEST_OVERLAP_WORDS = 60
SHORT_SENTENCE_WORDS = 12
CHARS_A_WORD = 6
HARD_CUT_CHARS = 1_200
DEEPEST_BOUNDARY = 2
"""A passage does not cross headings of this level or higher."""

LONGEST_HEADING_CHARS = 200

_ATX = re.compile(r"[\f ]{0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?\s*")
_SETEXT = re.compile(r" {0,3}(={2,}|-{3,})\s*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_NO_HEADING = re.compile(r"\s*(?:[-*+>|]|\d+[.)]\s|(?:[-*_]\s*){3,}$| {4})")
_SENTENCE_END = re.compile(
    r"[.!?…]+[\"'”’)\]*_]*\s+"
    r"|[。！？]+[」』）]*\s*"
    r"|\n\s*\n"
    r"|\n(?=\s*(?:[-*+]|\d+[.)])\s)"  # the next item of a list
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a text, with its headings (outermost first) and its lines (from 1)."""

    headings: tuple[str, ...]
    first_line: int
    last_line: int
    text: str

    @property
    def title(self) -> str:
        """The nearest heading, or nothing."""
        return self.headings[-1] if self.headings else ""


class _Kind(Enum):
    HEADING = "heading"
    PROSE = "prose"
    WHOLE = "code or table"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Lines that belong together, as offsets in the text."""

    start: int
    end: int
    kind: _Kind = _Kind.PROSE
    level: int = 0
    title: str = ""


@dataclass(slots=True, kw_only=True)
class _Section:
    """A heading and the blocks under it, up to the next heading of any level; level 0 is before the first."""

    level: int = 0
    headings: tuple[str, ...] = ()
    heading: _Block | None = None
    body: list[_Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A part that passages never split; the first of a section includes its heading."""

    start: int
    end: int
    headings: tuple[str, ...]
    is_prose: bool
    opens: bool = False


def split_passages(text: str) -> list[Passage]:
    """Return the passages of a text, in order; none for blank text."""
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    passages: list[Passage] = []
    for stretch in _stretches(text, _sections(_blocks(text, line_starts))):
        before: list[_Piece] = []
        for group in _groups(text, _pieces(text, stretch)):
            start = _overlap_start(text, before, group)
            passages.append(_passage(text, start, group, line_starts))
            before = group
    return passages


def first_heading(text: str) -> str:
    """Return the first heading of level 1, or nothing."""
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return next((block.title for block in _blocks(text, line_starts) if block.level == 1), "")


def _passage(text: str, start: int, group: Sequence[_Piece], line_starts: Sequence[int]) -> Passage:
    end = group[-1].end
    words: dict[tuple[str, ...], int] = {}
    for piece in group:
        words[piece.headings] = words.get(piece.headings, 0) + _size(text, piece.start, piece.end)
    return Passage(
        headings=max(words, key=lambda headings: words[headings]),
        first_line=bisect_right(line_starts, start),
        last_line=bisect_right(line_starts, end - 1),
        text=text[start:end].lstrip("\f\r\n"),
    )


def _size(text: str, start: int, end: int) -> int:
    return max(len(text[start:end].split()), (end - start) // CHARS_A_WORD)


def _blocks(text: str, line_starts: Sequence[int]) -> Iterator[_Block]:
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        count, kind, level, title = _block_at(lines, at)
        start = line_starts[at]
        end = line_starts[at + count - 1] + len(lines[at + count - 1].rstrip())
        yield _Block(start=start, end=end, kind=kind, level=level, title=title)
        at += count


def _block_at(lines: Sequence[str], at: int) -> tuple[int, _Kind, int, str]:
    """Return the number of lines and the kind of the block at a line, and the level and title of a heading."""
    if heading := _heading_at(lines, at):
        count, level, title = heading
        return count, _Kind.HEADING, level, title
    if _opens_fence(lines[at]):
        return _fence_lines(lines, at), _Kind.WHOLE, 0, ""
    if _is_table(lines[at]):
        return _table_lines(lines, at), _Kind.WHOLE, 0, ""
    return _prose_lines(lines, at), _Kind.PROSE, 0, ""


def _heading_at(lines: Sequence[str], at: int) -> tuple[int, int, str] | None:
    """Return the number of lines, the level and the title of the heading at a line."""
    line = lines[at]
    atx = _ATX.fullmatch(line)
    if atx and atx[2].strip():
        return 1, len(atx[1]), atx[2].strip()[:LONGEST_HEADING_CHARS]
    under = _SETEXT.fullmatch(lines[at + 1]) if at + 1 < len(lines) else None
    title = line.strip()
    if under is None or not title or len(title) > LONGEST_HEADING_CHARS or _NO_HEADING.match(line):
        return None
    return 2, 1 if under[1].startswith("=") else 2, title


def _opens_fence(line: str) -> bool:
    fence = _FENCE.fullmatch(line)
    return fence is not None and not (fence[1].startswith("`") and "`" in fence[2])


def _fence_lines(lines: Sequence[str], at: int) -> int:
    """Return the number of lines of a fenced block; an unclosed one extends to the end."""
    opened = _FENCE.fullmatch(lines[at])
    mark = opened[1] if opened else ""
    for place in range(at + 1, len(lines)):
        closed = _FENCE.fullmatch(lines[place])
        if closed and closed[1].startswith(mark) and not closed[2].strip():
            return place - at + 1
    last = max(place for place in range(at, len(lines)) if lines[place].strip())
    return last - at + 1


def _is_table(line: str) -> bool:
    return line.lstrip().startswith("|")


def _table_lines(lines: Sequence[str], at: int) -> int:
    end = at
    while end < len(lines) and _is_table(lines[end]):
        end += 1
    return end - at


def _prose_lines(lines: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and not _ends_prose(lines, end):
        end += 1
    return end - at


def _ends_prose(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    if not line.strip() or line.startswith("\f") or _is_table(line):
        return True
    return _opens_fence(line) or _heading_at(lines, at) is not None


def _sections(blocks: Iterable[_Block]) -> list[_Section]:
    sections = [_Section()]
    path: list[_Block] = []
    for block in blocks:
        if block.kind is not _Kind.HEADING:
            sections[-1].body.append(block)
            continue
        path = [*(one for one in path if one.level < block.level), block]
        headings = tuple(one.title for one in path)
        sections.append(_Section(level=block.level, headings=headings, heading=block))
    return sections if sections[0].body else sections[1:]


def _stretches(text: str, sections: Iterable[_Section]) -> list[list[_Section]]:
    """Return runs of sections that a passage may span; a heading without text joins the next section."""
    stretches: list[list[_Section]] = []
    for section in sections:
        if stretches and (section.level > DEEPEST_BOUNDARY or _goes_on(text, stretches[-1], section)):
            stretches[-1].append(section)
        else:
            stretches.append([section])
    if len(stretches) > 1 and not _body_size(text, stretches[-1]):
        last = stretches.pop()
        stretches[-1] += last
    return stretches


def _goes_on(text: str, stretch: Sequence[_Section], section: _Section) -> bool:
    words = _body_size(text, stretch)
    return not words or (words < TINY_WORDS and section.level > stretch[-1].level)


def _body_size(text: str, stretch: Iterable[_Section]) -> int:
    return sum(_size(text, block.start, block.end) for section in stretch for block in section.body)


def _pieces(text: str, stretch: Iterable[_Section]) -> list[_Piece]:
    """Return the pieces of a stretch; a heading joins the piece after it, or the last one."""
    pieces: list[_Piece] = []
    heading_start: int | None = None
    heading_end = 0
    for section in stretch:
        if section.heading is not None:
            heading_start = section.heading.start if heading_start is None else heading_start
            heading_end = section.heading.end
        for block in section.body:
            for start, end in _parts(text, block):
                opens = heading_start is not None
                pieces.append(
                    _Piece(
                        start=start if heading_start is None else heading_start,
                        end=end,
                        headings=section.headings,
                        is_prose=block.kind is _Kind.PROSE,
                        opens=opens,
                    )
                )
                heading_start = None
    if heading_start is None:
        return pieces
    if pieces:
        return [*pieces[:-1], replace(pieces[-1], end=heading_end)]
    return [_Piece(start=heading_start, end=heading_end, headings=section.headings, is_prose=False, opens=True)]


def _parts(text: str, block: _Block) -> Iterator[tuple[int, int]]:
    """Yield the parts of a block that are kept whole: the block, its sentences or lines, or runs of characters."""
    if block.kind is _Kind.WHOLE:
        fits = block.end - block.start <= MOST_CHARS
        parts = _lines(text, block.start, block.end)
    else:
        fits = _size(text, block.start, block.end) <= MOST_WORDS
        parts = _sentences(text, block.start, block.end)
    if fits:
        yield block.start, block.end
        return
    for start, end in parts:
        yield from _hard_cut(text, start, end)


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for match in _SENTENCE_END.finditer(text, start, end):
        yield from _trimmed(text, at, match.end())
        at = match.end()
    yield from _trimmed(text, at, end)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for match in re.compile("\n").finditer(text, start, end):
        yield from _trimmed(text, at, match.end())
        at = match.end()
    yield from _trimmed(text, at, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the part without trailing space, unless it is blank."""
    written = text[start:end].rstrip()
    if written.strip():
        yield start, start + len(written)


def _hard_cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > MOST_CHARS:
        space = max(text.rfind(mark, start + 1, start + HARD_CUT_CHARS) for mark in " \n\t")
        cut = space if space > start else start + HARD_CUT_CHARS
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, end)


def _groups(text: str, pieces: Iterable[_Piece]) -> list[list[_Piece]]:
    """Return the pieces of each passage; a short rest of a section joins the passage before it."""
    groups: list[list[_Piece]] = []
    for piece in pieces:
        if groups and not _ends(text, groups[-1], piece):
            groups[-1].append(piece)
        else:
            groups.append([piece])
    if len(groups) > 1 and _is_rest(text, groups[-2], groups[-1]):
        rest = groups.pop()
        groups[-1] += rest
    return groups


def _ends(text: str, group: Sequence[_Piece], piece: _Piece) -> bool:
    start = group[0].start
    has_enough = _size(text, start, group[-1].end) >= ENOUGH_WORDS
    if piece.opens and has_enough:
        return True
    if _size(text, start, piece.end) <= MOST_WORDS:
        return False
    return has_enough or piece.end - start > MOST_CHARS


def _is_rest(text: str, group: Sequence[_Piece], last: Sequence[_Piece]) -> bool:
    is_small = _size(text, last[0].start, last[-1].end) < TINY_WORDS
    return is_small and not last[0].opens and last[-1].end - group[0].start <= MOST_CHARS


def _overlap_start(text: str, before: Sequence[_Piece], group: Sequence[_Piece]) -> int:
    """Return the start of a passage: a sentence or two back if it continues the prose of the one before."""
    own = group[0].start
    if not before or group[0].opens or not before[-1].is_prose:
        return own
    prose = [piece for piece in before[-2:] if piece.is_prose]
    sentences = [one for piece in prose for one in _sentences(text, piece.start, piece.end)]
    last = sentences[-2:]
    if len(last) == 2 and _size(text, *last[1]) >= SHORT_SENTENCE_WORDS:
        last = last[1:]
    start = last[0][0]
    is_part = start > before[0].start and _size(text, start, own) <= LONGEST_OVERLAP_WORDS
    return start if is_part else own
