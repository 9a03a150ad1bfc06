"""Search results as a view inside an assistant (MCP Apps, 2026-01-26: `io.modelcontextprotocol/ui`).

Clients that do not declare the extension get the same lists and answers as if there were none. The view is one document
with style and script in it, made of the page's modules when it is first read: it may load nothing, not even from this
server. Joining them knows the forms of `import` and `export` that these modules have, and refuses any other.
"""

import base64
import posixpath
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

import orjson
from mcp import types
from mcp.server.lowlevel import Server

from stackroom.errors import StorageError
from stackroom.gate.answer import Answer
from stackroom.generic.record import shape_tile
from stackroom.model.principal import Principal
from stackroom.model.record import RecordId
from stackroom.model.scope import Scope
from stackroom.serve.async_gate import Context
from stackroom.text.safe import safe_json
from stackroom.tools.media import CallerMedia, MediaKind
from stackroom.tools.spec import ToolSpec
from stackroom.tools.toolbox import Toolbox

EXTENSION = "io.modelcontextprotocol/ui"
URI = "ui://stackroom/hits.html"
MIME_TYPE = "text/html;profile=mcp-app"
TOOL_META: dict[str, Any] = {
    "ui": {"resourceUri": URI, "visibility": ["model", "app"]},
    "ui/resourceUri": URI,  # the name that it had before 2026-01-26
}
SETTINGS: dict[str, Any] = {"mimeTypes": [MIME_TYPE]}
VIEW_META: dict[str, Any] = {"ui": {"prefersBorder": True}}
"""It asks for no permission and no network: an assistant that shows it need not let it load anything."""
TILES = "stackroom/tiles"
"""The key in the `_meta` of an answer that has its results as the view draws them; no model reads it."""
MOST_PICTURE_BYTES = 250_000
"""How much of an answer's pictures the view gets; records beyond have drawn covers."""


def declare_views(server: Server[Any]) -> None:
    """Declare the extension (from 2026-07-28)."""
    server.extensions[EXTENSION] = SETTINGS


def answer_extension(context: Context, capabilities: dict[str, Any]) -> None:
    """Declare the extension in an answer to `initialize` (up to 2025-11-25), to a client that declares it."""
    given = (context.params or {}).get("capabilities")
    declared = given.get("extensions") if isinstance(given, dict) else None
    if isinstance(declared, dict) and EXTENSION in declared:
        capabilities["extensions"] = {**capabilities.get("extensions", {}), EXTENSION: SETTINGS}


def shows_views(context: Context) -> bool:
    """Tell whether the client of a request declares that it shows views of this kind."""
    capabilities = context.session.client_capabilities
    settings = ((capabilities and capabilities.extensions) or {}).get(EXTENSION)
    kinds = settings.get("mimeTypes") if isinstance(settings, dict) else None
    return isinstance(kinds, list | tuple) and MIME_TYPE in kinds


def with_view(entry: types.Tool, tool: ToolSpec) -> types.Tool:
    """Return the entry of a tool with the view of its answers, where these list records that were found."""
    finds = tool.searches is not None or tool.recommends is not None or "results" in tool.result.model_fields
    return entry.model_copy(update={"meta": TOOL_META}) if finds else entry


def draw_results(answer: Answer, toolbox: Toolbox, principal: Principal) -> dict[str, Any]:
    """Return the results of an answer as the page draws them, by id; pictures are part of it, as far as they fit."""
    media, tiles, room = CallerMedia(principal, toolbox.media), {}, MOST_PICTURE_BYTES
    catalogues, scope = {one.name: one for one in toolbox.catalogues}, Scope(visibility=principal.visibility)
    for address in [str(result.get("id", "")) for result in (answer.structured or {}).get("results", ())]:
        name, _, record_id = address.partition("/")
        with suppress(StorageError, KeyError, OSError):  # the answer has what is known without it
            view = catalogues[name].view()
            if (record := view.find_record(RecordId(record_id), scope=scope)) is not None:
                file = media.find_file_in(name, record.id, MediaKind.THUMBNAIL)
                raw = file.path.read_bytes() if file and file.size_bytes <= room else b""
                image = f"data:{file.mime_type};base64,{base64.b64encode(raw).decode()}" if file and raw else None
                room -= len(image or "")
                tiles[address] = {**shape_tile(view.spec, name, record, media).model_dump(), "image": image}
    drawn: dict[str, Any] = orjson.loads(safe_json(orjson.dumps(tiles).decode()))
    return drawn


def view_contents(document: str) -> types.TextResourceContents:
    """Return the view as the content of its resource."""
    return types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=document, _meta=VIEW_META)


SITE = files("stackroom.serve.http") / "site"
ENTRY = "assistant/hits.js"
STYLES = ("style.css", "assistant/hits.css")
BARE_NAMES = {"preact": "vendor/preact.js"}
DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Search results</title>
<style>
{style}</style>
</head>
<body>
<div id="app"></div>
<script type="application/json" id="languages">{languages}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""

_BY_BROWSER = re.compile(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}")


@lru_cache(maxsize=1)
def build_view() -> str:
    """Return the document."""
    script = join_modules(ENTRY, _read, BARE_NAMES).replace("</script", r"<\/script")
    style = "".join(_read(name) for name in STYLES)
    style = _BY_BROWSER.sub(r":root[data-theme=dark] {\1}", style)  # by the assistant's theme, not the browser's
    return DOCUMENT.format(style=style, script=script, languages=_languages_of(script))


def _languages_of(script: str) -> str:
    """Return the texts of each language that may be in a script, as JSON for a document."""
    words = " ".join(script.split())
    known = {Path(path.name).stem: orjson.loads(path.read_bytes()) for path in (SITE / "languages").iterdir()}
    used = {name: {key: said for key, said in texts.items() if _has_text(words, key)} for name, texts in known.items()}
    return orjson.dumps(used).decode().replace("<", r"\u003c")


def _has_text(words: str, key: str) -> bool:
    """Tell whether all parts of a text between its values are in a script; `plural` has singulars."""
    return all(part.strip().removesuffix("es").removesuffix("s") in words for part in key.split("{}"))


def _read(name: str) -> str:
    return (SITE / name).read_text(encoding="utf-8")


ReadModule = Callable[[str], str]
"""Returns the source of a module by its path."""

_PLACE = r"""\s*["']([^"']+)["'];?"""
_START = r"(?:^|(?<=[;}\n]))"
_IMPORT = re.compile(rf"{_START}import\s*(\{{[^}}]*\}}|\*\s*as\s+\w+|\w+)\s*from{_PLACE}", re.MULTILINE)
_EXPORT_FROM = re.compile(rf"{_START}export\s*\{{([^}}]*)\}}\s*from{_PLACE}", re.MULTILINE)
_EXPORT_LIST = re.compile(rf"{_START}export\s*\{{([^}}]*)\}};?", re.MULTILINE)
_EXPORT_DEFAULT = re.compile(rf"{_START}export\s+default\s+", re.MULTILINE)
_EXPORT_DECLARED = re.compile(
    rf"{_START}export\s+(?=(?:async\s+)?(?:function|const|let|class)\b[\s*]*(\w+))", re.MULTILINE
)
_COMMENT = re.compile(r"^\s*//.*\n?", re.MULTILINE)
_LEFT = re.compile(rf"{_START}\s*(?:import|export)\b|\bimport\(", re.MULTILINE)


def join_modules(entry: str, read: ReadModule, names: dict[str, str]) -> str:
    """Return one script that runs a module with all that it imports; `names` has the paths of bare names."""
    joined = _Joined(read, names)
    joined.add(entry)
    return "\n".join(joined.parts)


class _Joined:
    """The modules so far, each as a constant with its exports, after those that it imports."""

    def __init__(self, read: ReadModule, names: dict[str, str]) -> None:
        self.parts: list[str] = []
        self._read = read
        self._names = names
        self._constants: dict[str, str] = {}
        self._numbers = count()

    def add(self, path: str) -> str:
        """Add a module, unless it is there; return the name of its constant."""
        if path not in self._constants:
            self._constants[path] = f"$module{next(self._numbers)}"
            self.parts.append(f"const {self._constants[path]} = {self._wrapped(path)};")
        return self._constants[path]

    def _wrapped(self, path: str) -> str:
        exported: list[str] = []

        def imported(found: re.Match[str]) -> str:
            what, constant = found[1], self._constant_of(found[2], path)
            if what.startswith("{"):
                return f"const {{{_renamed(what[1:-1], ': ')}}} = {constant};"
            return f"const {what.split()[-1] if what[0] == '*' else f'{{default: {what}}}'} = {constant};"

        def passed_on(found: re.Match[str]) -> str:
            constant = self._constant_of(found[2], path)
            exported.extend(f"{name}: {constant}.{own}" for own, name in _pairs(found[1]))
            return ""

        def listed(found: re.Match[str]) -> str:
            exported.extend(f"{name}: {own}" for own, name in _pairs(found[1]))
            return ""

        def declared(found: re.Match[str]) -> str:
            exported.append(found[1])
            return ""

        def default(_found: re.Match[str]) -> str:
            exported.append("default: $default")
            return "const $default = "

        source = _COMMENT.sub("", self._read(path))
        steps = (_IMPORT, imported), (_EXPORT_FROM, passed_on), (_EXPORT_LIST, listed), (_EXPORT_DEFAULT, default)
        for pattern, replaced in (*steps, (_EXPORT_DECLARED, declared)):
            source = pattern.sub(replaced, source)
        left = _LEFT.search(source)
        if left:
            raise ValueError(f"{path}: this form of import or export is not known: {source[left.start() :][:80]!r}")
        return f"(() => {{\n{source}\nreturn {{{', '.join(exported)}}};\n}})()"

    def _constant_of(self, name: str, importer: str) -> str:
        path = self._names.get(name) or posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
        return self.add(path)


def _pairs(names: str) -> list[tuple[str, str]]:
    """Return the names of a list such as `a, b as c`, each with the name that it gets."""
    listed = [one.split(" as ") for one in (part.strip() for part in names.split(",")) if one]
    return [(one[0].strip(), one[-1].strip()) for one in listed]


def _renamed(names: str, separator: str) -> str:
    return ", ".join(own if own == name else f"{own}{separator}{name}" for own, name in _pairs(names))
