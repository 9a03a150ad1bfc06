"""Where specs are found: the built-in catalogues' packages, or a file of the user's own."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pinakes.catalogue.compiler import compile_spec
from pinakes.catalogue.declaration import parse_declaration, read_declaration
from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import NotFoundError, did_you_mean

BUILTIN_PACKAGE = "pinakes_catalogues"
SPEC_FILE = "catalogue.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSpec:
    """A compiled spec, and the text of the declaration it came from."""

    spec: CatalogueSpec
    declaration: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinCatalogue(LoadedSpec):
    """A catalogue that ships with Pinakes, and its folder."""

    folder: Traversable


def list_builtin_names() -> list[str]:
    """Return the names of the catalogues that ship with Pinakes."""
    folder = resources.files(BUILTIN_PACKAGE)
    return sorted(entry.name for entry in folder.iterdir() if entry.joinpath(SPEC_FILE).is_file())


@cache
def get_builtin(name: str) -> BuiltinCatalogue:
    """Return a built-in catalogue, or refuse with the names there are."""
    names = list_builtin_names()
    if name not in names:
        raise NotFoundError(f"no built-in catalogue '{name}'{did_you_mean(name, names)}; built in: {', '.join(names)}")
    folder = resources.files(BUILTIN_PACKAGE).joinpath(name)
    text = folder.joinpath(SPEC_FILE).read_text(encoding="utf-8")
    return BuiltinCatalogue(spec=compile_text(text, origin=f"{name}/{SPEC_FILE}"), declaration=text, folder=folder)


def load_spec(path: Path) -> LoadedSpec:
    """Read, check and compile a `catalogue.toml`."""
    text = read_declaration(path)
    return LoadedSpec(spec=compile_text(text, origin=str(path)), declaration=text)


def compile_text(text: str, *, origin: str) -> CatalogueSpec:
    """Check and compile a declaration given as text."""
    return compile_spec(parse_declaration(text, origin=origin), origin=origin)
