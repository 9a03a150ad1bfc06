"""Loading a spec from a `catalogue.toml`."""

from dataclasses import dataclass
from pathlib import Path

from pinakes.catalogue.compiler import compile_spec
from pinakes.catalogue.declaration import parse_declaration, read_declaration
from pinakes.catalogue.spec import CatalogueSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSpec:
    """A compiled spec, and the text of the declaration it came from."""

    spec: CatalogueSpec
    declaration: str


def load_spec(path: Path) -> LoadedSpec:
    """Read, check and compile a `catalogue.toml`."""
    text = read_declaration(path)
    return LoadedSpec(spec=compile_text(text, origin=str(path)), declaration=text)


def compile_text(text: str, *, origin: str) -> CatalogueSpec:
    """Check and compile a declaration given as text."""
    return compile_spec(parse_declaration(text, origin=origin), origin=origin)
