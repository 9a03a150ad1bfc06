"""The reference of the public Python names: of `stackroom`, and of `stackroom.api` and its parts
for packages.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast, get_args

import stackroom
from stackroom import api, testing
from stackroom.api import commands, http, network, ranking, rows, server, shapes

MODULES = (api, shapes, rows, network, http, ranking, commands, server, testing)
EXAMPLES = Path(__file__).parent / "api_examples.py"
OTHERS = "Types and constants"
ERRORS = "[Errors](errors.md)"
LISTED = (OTHERS, ERRORS)
"""The kinds of names that are listed without a word about each."""
LITERALS = (str, int, float, bool, tuple, type(None))
LEFT_OUT = "…"
BREAK = "  \n"
IMPORT = "from stackroom import api"
_EXAMPLE = re.compile(r"^((?:# (?:\w+,? ?)+\n)+)(?=\S)", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[a-zA-Z0-9`)])(?:[.;:] |\.$)")
_CLAUSE_END = re.compile(
    r", (?=and|or|where|with|so|but|which|as|by|in|if|unless|few|without|else|its|each|how|up)"
)
_CLAUSE_START = re.compile(r"^(Return )?((an?|the) )?", re.IGNORECASE)


def python_parts() -> Iterator[str]:
    """Yield the parts of the page of what `import stackroom` offers."""
    yield "What `import stackroom` offers; [Use it from Python](../python.md) shows it at work."
    public = {name: getattr(stackroom, name) for name in dir(stackroom) if name != "__version__"}
    functions = {name: item for name, item in public.items() if not _is_class(item)}
    yield "\n".join(
        f"`stackroom.{name}{_arguments(item)}`: {_doc(item)}" for name, item in functions.items()
    )
    for name, item in public.items():
        if name not in functions:
            yield f"## `{name}`"
            yield _doc(item)
            yield BREAK.join(_iter_members(item))


def package_parts() -> Iterator[str]:
    """Yield the parts of the page of the names for catalogue packages, module by module."""
    yield (
        "Names for [catalogue packages](../write-a-catalogue.md), each with what it requires and"
        " the beginning of its docstring. Other modules can change at any time."
    )
    for module in MODULES:
        yield f"## `{module.__name__}`"
        by_kind: dict[str, list[str]] = {}
        for name in sorted(_public_names(module), key=str.lower):
            item = getattr(module, name)
            by_kind.setdefault(_kind_of(item), []).append(_name_line(name, item))
        for kind, lines in by_kind.items():
            yield f"{kind}: {', '.join(lines)}." if kind in LISTED else BREAK.join(lines)
        if module is api:
            yield "### Examples"
            yield f"With the names that `stackroom new` gives, after `{IMPORT}`."
            for names, code in iter_examples():
                yield f"{', '.join(f'`{name}`' for name in names)}:\n\n```python\n{code}\n```"


def iter_examples() -> Iterator[tuple[list[str], str]]:
    """Yield the examples of `stackroom.api`: the names that each is of, and its lines."""
    _, *parts = _EXAMPLE.split(EXAMPLES.read_text(encoding="utf-8"))
    for names, code in zip(parts[::2], parts[1::2], strict=True):
        yield re.findall(r"\w+", names), code.strip()


def attribute_docs(model: type) -> dict[str, str]:
    """Return the sentence that stands under each attribute of a class."""
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(text))
            ):
                found[name] = folded(text)
    return found


def _public_names(module: ModuleType) -> list[str]:
    """Return the names that a module exports by `import X as X`, and those that it defines; or
    those that it lists.
    """
    if hasattr(module, "__all__"):
        return list(module.__all__)
    imports = [
        one for one in ast.parse(inspect.getsource(module)).body if isinstance(one, ast.ImportFrom)
    ]
    exported = [alias.name for one in imports for alias in one.names if alias.asname == alias.name]
    defined = [
        name
        for name, item in vars(module).items()
        if getattr(item, "__module__", None) == module.__name__
    ]
    return exported + [name for name in defined if not name.startswith("_")]


def _is_class(item: object) -> bool:
    return isinstance(item, type) and not get_args(item)


def _kind_of(item: object) -> str:
    if inspect.isfunction(item):
        return "Functions"
    if not _is_class(item):
        return OTHERS
    return ERRORS if issubclass(cast(type, item), Exception) else "Classes"


def _name_line(name: str, item: Any) -> str:
    """Return a name with its arguments, if it is a function, and the beginning of what is said of
    it.
    """
    if _kind_of(item) in LISTED:
        return f"`{name}`"
    arguments = _arguments(item, is_short=True) if inspect.isfunction(item) else ""
    return f"`{name}{arguments}`: {_clause(_doc(item))}"


def _clause(doc: str) -> str:
    """Return the beginning of a docstring without an article: its first clause, unless that is a
    word or two.
    """
    sentence = _CLAUSE_START.sub("", _SENTENCE_END.split(doc)[0])
    clause = _CLAUSE_END.split(sentence)[0]
    return clause if " " in clause else sentence


def _iter_members(item: type) -> Iterator[str]:
    """Yield a line for each public attribute and method of a class; attributes that tell of
    themselves are in one.
    """
    meanings = attribute_docs(item)
    plain = [f"`{name}`" for name in inspect.get_annotations(item) if name not in meanings]
    if plain:
        yield f"{', '.join(plain)}"
    yield from (f"`{name}`: {meaning}" for name, meaning in meanings.items())
    for name, member in vars(item).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"`{name}`: {_doc(member)}"
        elif inspect.isfunction(member):
            yield f"`{name}{_arguments(member)}`: {_doc(member)}"


def _doc(item: object) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return folded(item.__doc__ or "").split("\n\n")[0]


def folded(text: str) -> str:
    """Return the paragraphs of a docstring, each on one line but for its lists."""
    return re.sub(r"(?<!\n)\n(?![\n-])", " ", inspect.cleandoc(text))


def _arguments(function: Callable[..., Any], *, is_short: bool = False) -> str:
    """Return the arguments of a function without their types: all with their defaults, or those
    that are required.
    """
    signature = inspect.signature(function)
    given = [_bare(one) for one in signature.parameters.values() if one.name != "self"]
    shown = [one for one in given if not is_short or one.default is inspect.Parameter.empty]
    text = str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty))
    return text.replace(repr(LEFT_OUT), LEFT_OUT)


def _bare(parameter: inspect.Parameter) -> inspect.Parameter:
    is_shown = parameter.default is inspect.Parameter.empty or isinstance(
        parameter.default, LITERALS
    )
    default = parameter.default if is_shown else LEFT_OUT
    return parameter.replace(annotation=inspect.Parameter.empty, default=default)
