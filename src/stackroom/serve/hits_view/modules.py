"""JavaScript modules as one script, without a build step: for views that may load nothing, not even from this server.

Not a parser: it knows the forms of `import` and `export` that the page's modules have, and refuses any other.
"""

import posixpath
import re
from collections.abc import Callable
from itertools import count

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
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
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

        source = _SOURCE_MAP.sub("", self._read(path))
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
