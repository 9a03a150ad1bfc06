"""The texts of the page's modules that people read: the keys of every language's file.

Between tags of a template with the tag `html`, and in the attributes that `core/translate.js`
knows, every text counts; elsewhere those that have the tag `t`, and what `plural` counts.
"""

import re
from collections.abc import Iterator
from pathlib import Path

HOLE = "\x01"
QUOTE = '"'
TEXT = re.compile(r"(?:^|(<[^<>]*>))([^<>]+)(?=<|$)")
ATTRIBUTE = re.compile(
    r"\s(?:alt|aria-label|description|empty|heading|hint|label|legend|placeholder|submit|title|what)"
    r'="([^"\x01]+)"'
)
PLURAL = re.compile(r"""\bplural\([^"`]*?, "([^"]+)"(?:, "([^"]+)")?\)""")
VERBATIM = re.compile(r"<(?:code|kbd|pre)\b")
WORD = re.compile(r"[^\W\d_]{2}")
SKIPPED = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)
REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]+")
READABLE = re.compile(
    r"[A-Za-z]{2,}[,;:.]? [A-Za-z“\x01]{2,}|^[A-Z][a-z]+$|^[A-Z][a-z]+ \x01|^\x01 [a-z]+ \x01$"
)
LABEL_KEY = re.compile(r"[{,]\s*([A-Z][a-z]+): (?!t`)")
BEFORE_REGEX = re.compile(r"(?:^|[(,=:\[!&|?{};>]|\breturn)\s*$")


def iter_templates(source: str) -> Iterator[tuple[str, str]]:
    """Yield each template of a module with its tag, its values as holes, those within values too;
    and quoted texts.
    """
    stack: list[tuple[str, list[str], int]] = []  # tag, texts, depth of braces
    depth, place = 0, 0
    while place < len(source):
        letter = source[place]
        if stack and depth == stack[-1][2]:  # within the text of a template
            tag, texts, _depth = stack[-1]
            if letter == "`":
                stack.pop()
                depth -= 1
                yield tag, "".join(texts)
            elif source.startswith("${", place):
                texts.append(HOLE)
                depth, place = depth + 1, place + 1
            else:
                texts.append(source[place : place + 2] if letter == "\\" else letter)
                place += letter == "\\"
        elif skipped := find_skipped(source, place):
            if letter == QUOTE:
                yield QUOTE, skipped[0][1:-1]
            place = skipped.end() - 1
        elif letter == "`":
            depth += 1
            stack.append((re.findall(r"\w*$", source[:place][-10:])[0], [], depth))
        else:
            depth += (letter == "{") - (letter == "}")
        place += 1


def find_skipped(source: str, place: int) -> re.Match[str] | None:
    """Return the comment, the quoted text or the regular expression that begins at a place."""
    found = SKIPPED.match(source, place)
    if found or source[place] != "/" or not BEFORE_REGEX.search(source[:place][-20:]):
        return found
    return REGEX.match(source, place)


def key_of(text: str) -> str:
    """Return a text without the spaces and values at its ends, its other values as `{}`."""
    return re.sub(r"\s+", " ", text.strip(f"{HOLE} \n\t")).replace(HOLE, "{}")


def iter_keys(source: str) -> Iterator[str]:
    """Yield the keys of a module's texts."""
    for tag, text in iter_templates(source):
        if tag == "t":
            yield text.replace(HOLE, "{}")
        elif tag == "html":
            yield from (
                key_of(inner) for before, inner in TEXT.findall(text) if not VERBATIM.match(before)
            )
            yield from (key_of(inner) for inner in ATTRIBUTE.findall(text))
    for one, many in PLURAL.findall(source):
        yield f"{{}} {many or one + 's'}"


def iter_unmarked(source: str) -> Iterator[str]:
    """Yield what reads like a text, or like the label of a column, and is not translated."""
    counted = {text for texts in PLURAL.findall(source) for text in texts}
    for tag, text in iter_templates(source):
        if tag not in {"t", "html"} and READABLE.search(text) and text not in counted:
            yield text.replace(HOLE, "{}")
    yield from LABEL_KEY.findall(source)


def list_keys(folder: Path) -> dict[str, str]:
    """Return the keys of all modules of a page, each with the module that has it first; not of its
    libraries.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.js")):
        name = path.relative_to(folder).as_posix()
        if not name.startswith("vendor/"):
            for key in iter_keys(path.read_text(encoding="utf-8")):
                if WORD.search(key.replace("{}", "")):
                    found.setdefault(key, name)
    return found
