"""Writes `docs/reference/` from the code: tools, settings, errors, commands, keys of
`catalogue.toml`, Python names.

Run after changing any of them; with `--check` nothing is written, and pages that lag are named:

    .venv/bin/python scripts/build_reference.py [--check]
"""

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args, get_origin

import click
from api_pages import attribute_docs, folded, package_parts, python_parts
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from stackroom import errors, settings
from stackroom.admin.analytics import analytics_tool
from stackroom.admin.jobs import jobs_tools
from stackroom.admin.server import Server, inspect_tool, server_tool
from stackroom.admin.sql_tool import SqlChildren, sql_tool
from stackroom.admin.users import USERS_TOOLS
from stackroom.assembly.builtin_jobs import list_builtin_jobs
from stackroom.catalogue import declaration, spec
from stackroom.cli.main import cli
from stackroom.control.database.tables import utc_now
from stackroom.errors import ExpectedError
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import Cost
from stackroom.packages import PACKAGES
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.edits import edit_tools
from stackroom.tools.faces.mcp import DeclaredTool, Served, serve
from stackroom.tools.operation import READS_CATALOGUES
from stackroom_catalogues.music.downloads.tools import downloads_tools

TARGET = Path(__file__).parent.parent / "docs" / "reference"
NOTE = "<!-- Made by scripts/build_reference.py from the code; do not edit. -->"
HELP_WIDTH = 100
NONE = "–"
MEANINGS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (Path(__file__).parent / "field_meanings.toml").read_text(encoding="utf-8")
)

Schema = Mapping[str, Any]
Row = Sequence[str]

PLAIN_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true/false",
    "object": "object",
    "null": "null",
    "anything": "anything",
}
SHORT_TYPES = {"string": "text", "integer": "int", "boolean": "bool"}
SHARED_BY = 4
"""In how many tools an argument has to be the same, to be told once."""
EMPTY_DEFAULTS = {NONE, "`false`", '`""`', "`[]`"}
TABLE_TYPES = {"table", "NAME → table", "NAME → table, required"}
PLAIN_METAVAR = r" (TEXT|PATH|INTEGER|INTEGER RANGE|FLOAT RANGE)$"
NO_ARGUMENTS = {"[OPTIONS]", "COMMAND [ARGS]...", "[COMMAND] [ARGS]..."}
CLI_NOTE = (
    "Every command has `--help`, often with an example; each has `--json`, which prints JSON for"
    " programs, except {}."
)
TOOLS_NOTE = (
    "An answer comes as structured content with the fields below, and as a short text of the same."
    " `?` marks what may be null, `[…]` a list; an object that is not spelled out is as in a tool"
    " above. What a field means is [at the end](#fields-of-answers), where its name does not say"
    " it. Bounds of texts are in the tool list and in `/openapi.json`. A tool needs"
    " `AccessCatalog`, counts as a read and changes nothing, unless it says otherwise."
)
BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " character"),
    ("minItems", "maxItems", " item"),
)
OTHER_LIMITS = {"exclusiveMinimum": "more than {}", "pattern": "matches `{}`"}
HTTP_CODES = {
    "no_host": (400, "A request has no `Host` header, or several."),
    "foreign_origin": (403, "The `Origin` header is not of a page of this server."),
    "method_not_allowed": (405, "There is something at this path, and not for this method."),
    "encoded_body": (415, "A body has a `Content-Encoding`; bodies are taken as they are."),
    "not_json": (415, "A message is not of the content type `application/json`."),
    "range_not_satisfiable": (416, "A file does not have the part that is asked for."),
    "misdirected": (421, "The `Host` header does not name this server."),
    "internal": (500, "The program has a bug; the server's log has the details."),
}
"""What the HTTP server answers with that is no error of a tool or command: code → status and
meaning.
"""


def main() -> int:
    """Write the pages, or name those that lag."""
    parser = argparse.ArgumentParser(description="Write docs/reference from the code.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 and name the pages that lag"
    )
    if parser.parse_args().check:
        lagging = lagging_pages(TARGET)
        for name in lagging:
            print(
                f"docs/reference/{name} lags; run: python scripts/build_reference.py",
                file=sys.stderr,
            )
        return 1 if lagging else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, build in PAGES.items():
        (TARGET / name).write_text(build(), encoding="utf-8")
    return 0


def lagging_pages(folder: Path) -> list[str]:
    """Return the names of the pages that are not what the code says now."""
    return [name for name, build in PAGES.items() if _text_of(folder / name) != build()]


def tools_page() -> str:
    """Return the page of every tool: those over every catalogue, of each built-in one, and of a
    shared server.
    """
    every = [cast(OpenCatalogue, SimpleNamespace(name="anime", spec=PACKAGES.get("anime").spec))]
    declared: dict[str, Sequence[DeclaredTool]] = {"Every catalogue": generic_tools(every)}
    declared |= {f"Catalogue `{name}`": tools for name, tools in iter_catalogue_tools()}
    declared["Catalogues that can be edited"] = list_edit_tools()
    declared["A shared server"] = list_house_tools()
    groups = {heading: serve(tools, every) for heading, tools in declared.items()}
    rows = {
        tool.name: list(_argument_rows(tool.params.model_json_schema()))
        for tools in groups.values()
        for tool in tools
    }
    counts = Counter(row for listed in rows.values() for row in listed)
    shared = [row for row, count in counts.items() if count >= SHARED_BY]
    told: dict[str, str] = {}
    parts = [TOOLS_NOTE, "Shared arguments:", _listed(shared)]
    for heading, tools in groups.items():
        parts.append(f"## {heading}")
        parts += [_tool_section(tool, rows[tool.name], shared, told) for tool in tools]
    names = {name for part in parts for name in re.findall(r"(\w+): ", part)}
    common = [
        f"- `{name}`: {meaning}" for name, meaning in MEANINGS["results"].items() if name in names
    ]
    return _page("Tools", [*parts, "## Fields of answers", "\n".join(common)])


def settings_page() -> str:
    """Return the page of every setting."""
    variables = {place: variable for variable, place in settings.ENVIRONMENT.items()}
    meanings = attribute_docs(settings.Settings)
    variables["", "home"] = "STACKROOM_HOME"
    fields = settings.Settings.model_fields
    top = {key: fields[key] for key in ("home", *settings.TOP_KEYS)}
    rows = [_setting_row("", key, field, variables, meanings) for key, field in top.items()]
    sections = dict(settings.SECTIONS)
    declared = entry_points(group=settings.PACKAGE_SECTIONS)
    for entry in sorted(one for one in declared if one.name not in sections):
        model = entry.load()
        is_key = entry.name in model.model_fields
        variables |= {
            ("" if is_key else entry.name, key): variable
            for variable, key in settings.iter_variables(model)
        }
        if is_key:
            field = model.model_fields[entry.name]
            rows.append(_setting_row("", entry.name, field, variables, attribute_docs(model)))
        else:
            sections[entry.name] = model
    parts = [
        (
            f"Settings come from `{settings.CONFIG_FILE}` in the library's folder and from the"
            " environment, which wins. A variable that is empty counts as not set. A key that is"
            " not known is refused."
        ),
        _listed(rows),
    ]
    for section, model in sections.items():
        meanings = attribute_docs(model)
        rows = [
            _setting_row(section, key, field, variables, meanings)
            for key, field in model.model_fields.items()
        ]
        parts += [f"## `[{section}]`", _doc(model), _listed(rows)]
    addresses = [
        (f"`{kind}`", f"`{url}`", f"`{path}`")
        for kind, (url, path) in settings.ENDPOINT_DEFAULTS.items()
    ]
    parts += ["## Usual addresses", _table(("kind", "`url`", "`path`"), addresses)]
    return _page("Settings", parts)


def errors_page() -> str:
    """Return the table of failures."""
    rows = [
        (f"`{error.code}`", str(error.exit_code), str(error.http_status), _doc(error))
        for error in iter_errors(ExpectedError)
    ]
    return _page(
        "Errors",
        [
            (
                "A foreseen failure is one line on standard error, beginning with `stackroom:`, and"
                " an exit code. A tool's answer has `isError` and a text that begins with the code."
                " The exit code 0 means success."
            ),
            _table(("code", "exit code", "HTTP status", "meaning"), rows),
            "The HTTP server also answers with these:",
            _table(("code", "HTTP status", "meaning"), _http_rows()),
            (
                "Besides these: 1 when `stackroom doctor` or `stackroom audit verify` finds"
                " something wrong, or when the program has a bug, which shows as a traceback; 2"
                " when a command line is not understood."
            ),
        ],
    )


def cli_page() -> str:
    """Return every command: its usage, help and options; options of several commands are told
    once.
    """
    root = click.Context(
        cli, info_name="stackroom", terminal_width=HELP_WIDTH, **cli.context_settings
    )
    contexts = list(iter_contexts(root))
    options = {context.command_path: list(_iter_options(context)) for context in contexts}
    counts = Counter(row for rows in options.values() for row in rows)
    shared = [row for row, count in counts.items() if count > 1 and row[0] != "--json"]
    without = [
        f"`{context.command_path}`"
        for context in contexts
        if "--json" not in dict(options[context.command_path])
        and not isinstance(context.command, click.Group)
    ]
    told = "Shared options:\n\n" + "\n".join(
        f"- `{name}`: {meaning.removesuffix('.')}" for name, meaning in shared
    )
    sections = [
        _help_section(context, options[context.command_path], shared) for context in contexts
    ]
    return _page("Commands", [CLI_NOTE.format(", ".join(without)), told, *sections])


def catalogue_page() -> str:
    """Return the page of every table and key of a `catalogue.toml`."""
    schema = declaration.Declaration.model_json_schema()
    parts = [
        "What a catalogue's declaration may have. NAME stands for a name of your own. A key that is"
        " not known is refused. [How to write one](../add-a-catalogue.md) has an example."
    ]
    titles: dict[str, str] = {}
    for path, model_name in iter_tables(schema):
        model = getattr(declaration, model_name, None) or getattr(spec, model_name)
        body = schema if model_name == schema["title"] else schema["$defs"][model_name]
        own = [base for base in reversed(model.__mro__) if base.__module__ == spec.__name__]
        meanings = {
            key: text for base in (*own, model) for key, text in attribute_docs(base).items()
        }
        tables = {
            key for key, node in body["properties"].items() if _model_of(node, schema["$defs"])[0]
        }
        titles |= {f"{path}.{key}".lstrip("."): meanings[key] for key in tables}
        rows = [
            row for row in _key_rows(body, schema["$defs"], meanings) if row[1] not in TABLE_TYPES
        ]
        heading = f"## `[{path}]`" if path else "## At the top"
        parts += [heading, titles.get(path.removesuffix(".NAME"), ""), _listed(rows)]
    return _page("`catalogue.toml`", parts)


PAGES: dict[str, Callable[[], str]] = {
    "tools.md": tools_page,
    "settings.md": settings_page,
    "errors.md": errors_page,
    "cli.md": cli_page,
    "catalogue-toml.md": catalogue_page,
    "python-api.md": lambda: _page("Python API", python_parts()),
    "package-api.md": lambda: _page("Package API", package_parts()),
}
"""File in `docs/reference` → the function that makes its text."""


def iter_catalogue_tools() -> Iterator[tuple[str, Sequence[DeclaredTool]]]:
    """Yield each catalogue package that has tools, with them; nothing is opened."""
    for package in PACKAGES.iter_packages():
        stand_in = SimpleNamespace(name=package.samples[0].name, spec=package.spec, folder=None)
        if tools := package.tools([cast(OpenCatalogue, stand_in)]):
            yield package.name, list(tools)


def list_edit_tools() -> Sequence[DeclaredTool]:
    """Return the tools that change records, as they are where several catalogues can be edited."""
    spec = PACKAGES.get("music").spec
    wordless = SimpleNamespace(embedder=None)
    catalogues = [
        SimpleNamespace(name=name, spec=spec, shelf=None, searcher=wordless) for name in "ab"
    ]
    return edit_tools([cast(OpenCatalogue, one) for one in catalogues])


def list_house_tools() -> Sequence[DeclaredTool]:
    """Return the tools that run a shared server; nothing is opened."""
    nothing = cast(Any, None)
    board = cast(Any, SimpleNamespace(specs={job.name: job for job in list_builtin_jobs(nothing)}))
    server = Server(settings=settings.Settings(home=Path()), started_at=utc_now())
    return [
        *USERS_TOOLS,
        analytics_tool(nothing),
        *downloads_tools(nothing, str),
        server_tool(server),
        *jobs_tools(board),
        sql_tool(SqlChildren()),
        inspect_tool(),
    ]


def iter_errors(error: type[ExpectedError]) -> Iterator[type[ExpectedError]]:
    """Yield an error and those under it, in the order of their declaration."""
    if error is not ExpectedError:
        yield error
    for one in error.__subclasses__():
        if one.__module__ == errors.__name__:
            yield from iter_errors(one)


def iter_contexts(context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command and of every command under it."""
    yield context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from iter_contexts(
                    click.Context(inner, info_name=name, parent=context, **inner.context_settings)
                )


def iter_tables(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the path of every table of a declaration, with the model that it is."""
    waiting = [("", schema["title"], schema)]
    while waiting:
        path, model_name, body = waiting.pop(0)
        yield path, model_name
        below = []
        for key, node in body["properties"].items():
            inner, name = _model_of(node, schema["$defs"])
            if inner:
                below.append((f"{path}.{key}{name}".lstrip("."), inner, schema["$defs"][inner]))
        waiting = below + waiting


def iter_properties(
    body: Schema, definitions: Schema, prefix: str = ""
) -> Iterator[tuple[str, Schema, bool]]:
    """Yield every property of an object and of the objects in it: its path, its schema, whether it
    is required.
    """
    for name, node in body.get("properties", {}).items():
        path = prefix + name
        yield path, node, name in body.get("required", ())
        inner, items = _object_in(node, definitions)
        if inner is not None:
            yield from iter_properties(inner, definitions, f"{path}{items}.")


def type_of(node: Schema, definitions: Schema, *, with_null: bool = True) -> str:
    """Say what values a schema allows."""
    if "$ref" in node:
        return type_of(_resolved(node, definitions), definitions)
    if "anyOf" in node:
        options = [one for one in node["anyOf"] if with_null or one.get("type") != "null"]
        return " or ".join(type_of(one, definitions) for one in options)
    if "enum" in node:
        return "one of " + ", ".join(f"`{value}`" for value in node["enum"] if value)
    if node.get("type") == "array":
        return f"list of {type_of(node.get('items', {}), definitions)}"
    if isinstance(node.get("additionalProperties"), dict):
        return f"NAME → {type_of(node['additionalProperties'], definitions)}"
    kinds = node.get("type", "anything")
    listed = kinds if isinstance(kinds, list) else [kinds]
    return " or ".join(PLAIN_TYPES[one] for one in listed if with_null or one != "null")


def limits_of(node: Schema) -> list[str]:
    """Say what bounds a schema sets."""
    found = [
        _bound(node.get(low), node.get(high), unit)
        for low, high, unit in BOUNDS
        if low in node or high in node
    ]
    found += [form.format(node[key]) for key, form in OTHER_LIMITS.items() if key in node]
    for option in node.get("anyOf", ()):
        found += limits_of(option)
    if "items" in node:
        found += [f"each {limit}" for limit in limits_of(node["items"])]
    return found


def result_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of an answer, with what the tool list does not spell out: objects, and what
    fields mean.
    """
    schema = model.model_json_schema(mode="serialization")
    meanings = attribute_docs(model)
    for name, field in model.model_fields.items():
        node = schema["properties"].get(field.alias or name)
        if node is None:  # a field that is not part of the answer
            continue
        if name in meanings:
            node["description"] = meanings[name]
        bare = node.get("items", node)
        inner = _find_model(field.annotation)
        if inner is not None and set(bare) <= {"type", "title", "description"}:
            spelled_out = result_schema(inner)
            schema.setdefault("$defs", {}).update(spelled_out.pop("$defs", {}))
            bare["properties"] = spelled_out["properties"]
            bare["title"] = inner.__name__
            bare.setdefault("description", spelled_out.get("description", ""))
    return schema


def _find_model(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a declared type is, lists or may be."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = () if get_origin(annotation) is dict else get_args(annotation)
    return next((found for one in inner if (found := _find_model(one))), None)


def _http_rows() -> Iterator[Row]:
    for code, (status, meaning) in HTTP_CODES.items():
        yield f"`{code}`", str(status), meaning


def _tool_section(
    tool: Served, rows: Sequence[Row], shared: Sequence[Row], told: dict[str, str]
) -> str:
    own = [row for row in rows if row not in shared]
    also = ", ".join(row[0] for row in rows if row in shared)
    operation = tool.operation
    cost = "SQL" if operation.cost is Cost.SQL else f"a {operation.cost}"
    is_usual = operation.needs == READS_CATALOGUES and operation.is_read
    allowed = "` or `".join(operation.needs.any_of)
    needs = "" if is_usual else f" Needs `{allowed}`; counts as {cost}."
    return _joined(
        [
            f"### `{tool.name}`",
            f"{tool.description.removesuffix('.')}.{needs}",
            _listed(own),
            f"Shared: {also}." if also else "",
            _answer(result_schema(operation.result), told),
        ]
    )


def _answer(schema: Schema, told: dict[str, str]) -> str:
    """Return the fields of an answer and of each object in it that no answer above has, and what
    they mean.
    """
    definitions = schema.get("$defs", {})
    lines, meanings = [], []
    for name, body in _iter_objects(schema, definitions, "answer"):
        fields = body["properties"]
        text = ", ".join(f"{key}: {short_type(node, definitions)}" for key, node in fields.items())
        if told.get(name) == text and name != "answer":
            continue
        told[name] = text
        lines.append(f"{name} {{{text}}}")
        meanings += [
            f"`{key}`: {node['description']}" for key, node in fields.items() if _is_own(key, node)
        ]
    return _joined(
        [
            "```\n" + "\n".join(lines) + "\n```",
            "; ".join(text.strip().rstrip(".") for text in meanings),
        ]
    )


def _is_own(key: str, node: Schema) -> bool:
    """Say whether a field has a meaning of its own, beside that of its name in every answer."""
    return bool(node.get("description")) and node["description"] != MEANINGS["results"].get(key)


def _iter_objects(body: Schema, definitions: Schema, name: str) -> Iterator[tuple[str, Schema]]:
    """Yield an object, and those in it, each once with its name."""
    waiting, seen = [(name, body)], {name}
    while waiting:
        name, body = waiting.pop(0)
        yield name, body
        for node in body["properties"].values():
            inner, _ = _object_in(node, definitions)
            if inner is not None and inner["title"] not in seen:
                seen.add(inner["title"])
                waiting.append((inner["title"], inner))


def short_type(node: Schema, definitions: Schema) -> str:
    """Say in a word what values a field of an answer has."""
    node = _resolved(node, definitions)
    if "properties" in node:
        return str(node["title"])
    if "anyOf" in node:
        kinds = [short_type(option, definitions) for option in node["anyOf"]]
        return "|".join(kind for kind in kinds if kind != "null") + ("?" if "null" in kinds else "")
    if "enum" in node:
        return "|".join(value for value in node["enum"] if value)
    if node.get("type") == "array":
        return f"[{short_type(node.get('items', {}), definitions)}]"
    if isinstance(node.get("additionalProperties"), dict):
        return f"{{NAME: {short_type(node['additionalProperties'], definitions)}}}"
    kinds = node.get("type", "any")
    return "|".join(
        SHORT_TYPES.get(kind, kind) for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _argument_rows(schema: Schema) -> Iterator[Row]:
    definitions = schema.get("$defs", {})
    for path, node, is_required in iter_properties(schema, definitions):
        limits = [limit for limit in limits_of(node) if "character" not in limit]
        notes = _notes(node, is_required=is_required)
        kind = ", ".join([type_of(node, definitions, with_null=False), *limits, *notes])
        yield f"`{path}`", kind, _meaning(node, definitions) or _common_meaning("arguments", path)


def _key_rows(body: Schema, definitions: Schema, meanings: Mapping[str, str]) -> Iterator[Row]:
    for key, node in body["properties"].items():
        kind = type_of(node, definitions, with_null=False).replace("object", "table")
        notes = _notes(node, is_required=key in body.get("required", ()))
        yield (
            f"`{key}`",
            ", ".join([kind, *limits_of(node), *notes]),
            " ".join(meanings[key].split()),
        )


def _notes(node: Schema, *, is_required: bool) -> list[str]:
    """Say that a value is required, or what it is by default if that is not empty."""
    default = _shown(node.get("default"))
    return (
        ["required"] if is_required else [] if default in EMPTY_DEFAULTS else [f"default {default}"]
    )


def _setting_row(
    section: str,
    key: str,
    field: FieldInfo,
    variables: Mapping[tuple[str, str], str],
    meanings: Mapping[str, str],
) -> Row:
    variable = variables.get((section, key))
    default = NONE if field.default in (PydanticUndefined, {}) else _shown(field.default)
    notes = ([f"`{variable}`"] if variable else []) + (
        [] if default in EMPTY_DEFAULTS else [f"default {default}"]
    )
    if key == "home":  # the file is in the library's folder, so it cannot say where that is
        return notes[0], "", meanings[key]
    return f"`{key}`", ", ".join(notes), meanings[key]


def _help_section(context: click.Context, options: Sequence[Row], shared: Sequence[Row]) -> str:
    own = [
        f"- `{name}`: {meaning.removesuffix('.')}"
        for name, meaning in options
        if (name, meaning) not in shared and name != "--json"
    ]
    also = ", ".join(
        f"`{name.split()[0].strip(',')}`" for name, meaning in options if (name, meaning) in shared
    )
    pieces = [
        piece
        for piece in context.command.collect_usage_pieces(context)
        if piece not in NO_ARGUMENTS
    ]
    paragraphs = folded((context.command.help or "").replace("\b\n", "")).split("\n\n")
    told = [text for text in paragraphs if not text.startswith("Example:")]
    if isinstance(context.command, click.Group) and len(told) == 1 and not own:
        return ""
    heading = f"## `{' '.join([context.command_path, *pieces])}`"
    return _joined([heading, *told, "\n".join(own), f"Shared: {also}." if also else ""])


def _iter_options(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1] and "--help" not in record[0]:
            yield re.sub(PLAIN_METAVAR, "", record[0]), record[1].replace("  [", " [")


def _model_of(node: Schema, definitions: Schema) -> tuple[str | None, str]:
    """Return the model of a property that is a table, and `.NAME` where it is a table of such
    tables.
    """
    if isinstance(node.get("additionalProperties"), dict):
        return _model_of(node["additionalProperties"], definitions)[0], ".NAME"
    for option in (node, *node.get("anyOf", ())):
        name = option.get("$ref", "").rsplit("/", 1)[-1]
        if "properties" in definitions.get(name, {}):
            return name, ""
    return None, ""


def _object_in(node: Schema, definitions: Schema) -> tuple[Schema | None, str]:
    """Return the object that a property is or lists, and `[]` where it lists them."""
    for option in (node, *node.get("anyOf", ())):
        is_list = option.get("type") == "array"
        inner = _resolved(option.get("items", {}) if is_list else option, definitions)
        if "properties" in inner:
            return inner, "[]" if is_list else ""
    return None, ""


def _resolved(node: Schema, definitions: Schema) -> Schema:
    found: Schema = definitions[node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node
    return found


def _meaning(node: Schema, definitions: Schema) -> str:
    """Return what is said of a property, or else of the object that it is."""
    inner, _ = _object_in(node, definitions)
    return str(node.get("description") or (inner or {}).get("description") or "").strip()


def _common_meaning(table: str, path: str) -> str:
    """Return what a field of this name means in every tool; the whole path is looked up first."""
    known = MEANINGS[table]
    return known.get(path) or known.get(path.rsplit(".", 1)[-1].removesuffix("[]"), "")


def _bound(low: float | None, high: float | None, unit: str) -> str:
    ending = f"{unit}s" if unit and (low if high is None else high) != 1 else unit
    if low is None or high is None:
        return f"at least {low}{ending}" if high is None else f"at most {high}{ending}"
    return f"{low} to {high}{ending}"


def _shown(value: Any) -> str:
    return (
        NONE
        if value is None or isinstance(value, dict)
        else f"`{json.dumps(value, ensure_ascii=False)}`"
    )


def _doc(item: type) -> str:
    return folded(item.__doc__ or "")


def _page(title: str, parts: Iterable[str]) -> str:
    return _joined([f"# {title}", NOTE, *parts]) + "\n"


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)


def _listed(rows: Iterable[Row]) -> str:
    """Return a line for each name with its type and what it means."""
    lines = [
        (name, f" ({kind})" if kind else "", " ".join(meaning.split()))
        for name, kind, meaning in rows
    ]
    return "\n".join(
        f"- {name}{kind}: {meaning}" if meaning else f"- {name}{kind}"
        for name, kind, meaning in lines
    )


def _table(headings: Row, rows: Iterable[Row]) -> str:
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = [headings, ["---"] * len(headings), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    sys.exit(main())
