"""LaTeX → Markdown-like text: headings, and the text in simple commands. Every line keeps its number."""

import re

from pinakes.sources.extract import Extracted
from pinakes.sources.text_encoding import decode

LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}

DEEPEST_COMMANDS = 8
"""The depth to which commands within commands are read."""

_COMMENT = re.compile(r"(?<!\\)%.*")
_PREAMBLE = re.compile(r"\A.*?\\begin\{document\}", re.DOTALL)
_TITLE = re.compile(r"\\title\{([^{}]*)\}")
_HEADING = re.compile(rf"\\({'|'.join(LEVELS)})\*?(?:\[[^\]]*\])?\{{([^{{}}]*)\}}")
_SILENT = re.compile(
    r"\\(?:label|ref|cite[pt]?|includegraphics|usepackage|bibliography\w*|begin|end|vspace|hspace)"
    r"\*?(?:\[[^\]]*\])?(?:\{[^{}]*\})+"
)
_ITEM = re.compile(r"\\item\b(?:\[([^\]]*)\])?")
_WRAPPED = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}")
_COMMAND = re.compile(r"\\(?:[a-zA-Z]+\*?|\\)")
_ESCAPED = re.compile(r"\\([%&#$_{}])")


def read_tex(content: bytes) -> Extracted:
    """Return the text after the preamble, and the title."""
    text = _COMMENT.sub("", decode(content))
    title = _TITLE.search(text)
    text = _PREAMBLE.sub(lambda preamble: "\n" * preamble[0].count("\n"), text)
    for pattern in (_SILENT, _TITLE):
        text = pattern.sub(_blank, text)
    text = _ITEM.sub(lambda found: f"- {found[1] or ''}", _headed(text))
    for _ in range(DEEPEST_COMMANDS):
        text = _WRAPPED.sub(r"\1", text)
    text = _COMMAND.sub(" ", _ESCAPED.sub(r"\1", text))
    return Extracted(text=text, title=" ".join(_COMMAND.sub(" ", title[1]).split()) if title else "")


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _headed(text: str) -> str:
    """Return the text with headings of Markdown; one that stands within a line stays there, as plain words."""
    lines = []
    for line in text.split("\n"):
        heading = _HEADING.search(line)
        is_alone = heading is not None and not (line[: heading.start()] + line[heading.end() :]).strip()
        lines.append(f"{'#' * LEVELS[heading[1]]} {heading[2]}" if heading and is_alone else _HEADING.sub(r"\2", line))
    return "\n".join(lines)
