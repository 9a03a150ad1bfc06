"""Search results as a view inside an assistant (MCP Apps, 2026-01-26:
`io.modelcontextprotocol/ui`).

Clients that do not declare the extension get the same lists and answers as if there were none. The
view is one document with style and script in it, made of the page's modules when it is first read:
it may load nothing, not even from this server. Joining them knows the forms of `import` and
`export` that these modules have, and refuses any other.
"""

import base64
import posixpath
import re
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from mcp import types

from stackroom.errors import StorageError
from stackroom.gate.answer import Answer
from stackroom.generic.record import shape_tile
from stackroom.model.principal import Principal
from stackroom.model.record import RecordId
from stackroom.model.scope import Scope
from stackroom.serve.async_gate import EXTENSION, Context
from stackroom.text.safe import safe_json
from stackroom.tools.faces.mcp import Served
from stackroom.tools.media import MediaKind
from stackroom.tools.toolbox import Toolbox

URI = "ui://stackroom/hits.html"
MIME_TYPE = "text/html;profile=mcp-app"
TOOL_META: dict[str, Any] = {
    "ui": {"resourceUri": URI, "visibility": ["model", "app"]},
    "ui/resourceUri": URI,  # the name that it had before 2026-01-26
}
SETTINGS: dict[str, Any] = {"mimeTypes": [MIME_TYPE]}  # the declaration of the extension
VIEW_META: dict[str, Any] = {"ui": {"prefersBorder": True}}
"""It asks for no permission and no network: an assistant that shows it need not let it load
anything.
"""
TILES = "stackroom/tiles"
"""The key in the `_meta` of an answer that has its results as the view draws them; no model reads
it.
"""
# how much of an answer's pictures the view gets; records beyond have drawn covers
MOST_PICTURE_BYTES = 250_000


def answer_extension(context: Context, capabilities: dict[str, Any]) -> None:
    """Declare the extension in an answer to `initialize` (up to 2025-11-25), to a client that
    declares it.
    """
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


def with_view(entry: types.Tool, tool: Served) -> types.Tool:
    """Return the entry of a tool with the view of its answers, where these list records that were
    found.
    """
    operation = tool.operation
    lists = operation.finds or "results" in operation.result.model_fields
    return entry.model_copy(update={"meta": TOOL_META}) if lists else entry


def draw_results(answer: Answer, toolbox: Toolbox, principal: Principal) -> dict[str, Any]:
    """Return the results of an answer as the page draws them, by id; pictures are part of it, as
    far as they fit.
    """
    media, scope = toolbox.media_of(principal), Scope(visibility=principal.visibility)
    catalogues = {one.name: one for one in toolbox.catalogues}
    tiles, room = dict[str, Any](), MOST_PICTURE_BYTES
    for result in (answer.structured or {}).get("results", ()):
        address = str(result.get("id", ""))
        name, _, record_id = address.partition("/")
        with suppress(StorageError, KeyError, OSError):  # the answer has what is known without it
            view = catalogues[name].view()
            record = view.find_record(RecordId(record_id), scope=scope)
            if record is None:
                continue
            file, image = media.find_file_in(name, record.id, MediaKind.COVER), None
            if file and file.size_bytes <= room and (raw := file.path.read_bytes()):
                image = f"data:{file.mime_type};base64,{base64.b64encode(raw).decode()}"
                room -= len(image)
            tile = shape_tile(view.spec, name, record, media).model_dump()
            tiles[address] = {**tile, "image": image}
    drawn: dict[str, Any] = orjson.loads(safe_json(orjson.dumps(tiles).decode()))
    return drawn


SITE = files("stackroom.serve.http") / "site"
ENTRY = "assistant/hits.js"
STYLES = ("style.css", "assistant/hits.css")
BARE_NAMES = {"preact": "vendor/preact.js"}
DOCUMENT = "assistant/hits.html"

_BY_BROWSER = re.compile(r"@media \(prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}\s*\}")


def view_contents() -> types.TextResourceContents:
    """Return the view as the content of its resource."""
    return types.TextResourceContents(
        uri=URI, mime_type=MIME_TYPE, text=build_view(), _meta=VIEW_META
    )


@lru_cache(maxsize=1)
def build_view() -> str:
    """Return the document."""
    joined: dict[str, str] = {}
    _join_modules(ENTRY, joined)
    script = "\n".join(["const $modules = {};", *joined.values()]).replace("</script", r"<\/script")
    style = "".join(_read(name) for name in STYLES)
    # by the assistant's theme, not the browser's
    style = _BY_BROWSER.sub(r":root[data-theme=dark] {\1}", style)
    document = _read(DOCUMENT).replace("{{languages}}", _languages_of(script))
    return document.replace("{{style}}", style).replace("{{script}}", script)


def _languages_of(script: str) -> str:
    """Return the texts of each language that may be in a script, as JSON for a document."""
    words = " ".join(script.split())
    known = {
        Path(path.name).stem: orjson.loads(path.read_bytes())
        for path in (SITE / "languages").iterdir()
    }
    used = {
        name: {key: said for key, said in texts.items() if _has_text(words, key)}
        for name, texts in known.items()
    }
    return orjson.dumps(used).decode().replace("<", r"\u003c")


def _has_text(words: str, key: str) -> bool:
    """Tell whether all parts of a text between its values are in a script; `plural` has
    singulars.
    """
    return all(
        part.strip().removesuffix("es").removesuffix("s") in words for part in key.split("{}")
    )


def _read(name: str) -> str:
    return (SITE / name).read_text(encoding="utf-8")


_PLACE = r"""\s*["']([^"']+)["'];?"""
_START = r"(?:^|(?<=[;}\n]))"
_IMPORT = re.compile(rf"{_START}import\s*(\{{[^}}]*\}}|\w+)\s*from{_PLACE}", re.MULTILINE)
_EXPORTED_NAMES = re.compile(
    rf"{_START}export\s*\{{([^}}]*)\}}(?:\s*from{_PLACE}|;?)", re.MULTILINE
)
_DECLARATION = r"(?:async\s+)?(?:function|const|let|class)\b[\s*]*(\w+)"
_EXPORTED = re.compile(rf"{_START}export\s+(?:default\s+|(?={_DECLARATION}))", re.MULTILINE)
_COMMENT = re.compile(r"^\s*//.*\n?", re.MULTILINE)
_LEFT = re.compile(rf"{_START}\s*(?:import|export)\b|\bimport\(", re.MULTILINE)


def _join_modules(path: str, joined: dict[str, str]) -> str:
    """Add a module, unless it is there, after those that it imports; return what stands for its
    exports.
    """
    exported: list[str] = []

    def module_of(name: str) -> str:
        known = BARE_NAMES.get(name)
        return _join_modules(
            known or posixpath.normpath(posixpath.join(posixpath.dirname(path), name)), joined
        )

    def imported(found: re.Match[str]) -> str:
        names = [f"default: {found[1]}"]
        if found[1].startswith("{"):
            names = [
                own if own == name else f"{own}: {name}" for own, name in _pairs(found[1][1:-1])
            ]
        return f"const {{{', '.join(names)}}} = {module_of(found[2])};"

    def listed(found: re.Match[str]) -> str:
        origin = f"{module_of(found[2])}." if found[2] else ""
        exported.extend(f"{name}: {origin}{own}" for own, name in _pairs(found[1]))
        return ""

    def declared(found: re.Match[str]) -> str:
        exported.append(found[1] or "default: $default")
        return "" if found[1] else "const $default = "

    if path not in joined:
        source = _COMMENT.sub("", _read(path))
        for pattern, replaced in (
            (_IMPORT, imported),
            (_EXPORTED_NAMES, listed),
            (_EXPORTED, declared),
        ):
            source = pattern.sub(replaced, source)
        left = _LEFT.search(source)
        if left:
            raise ValueError(
                f"{path}: this form of import or export is not known:"
                f" {source[left.start() :][:80]!r}"
            )
        joined[path] = (
            f"$modules['{path}'] = (() => {{\n{source}\nreturn {{{', '.join(exported)}}};\n}})();"
        )
    return f"$modules['{path}']"


def _pairs(names: str) -> list[tuple[str, str]]:
    """Return the names of a list such as `a, b as c`, each with the name that it gets."""
    listed = [one.split(" as ") for one in (part.strip() for part in names.split(",")) if one]
    return [(one[0].strip(), one[-1].strip()) for one in listed]
