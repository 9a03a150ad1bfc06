"""The kind of a row's record: by the declaration's `kind` path, or by the source that the row comes from."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import InputError, SpecError, did_you_mean
from pinakes.ingest.paths import value_at
from pinakes.sources.location import without_settings
from pinakes.text.cells import is_nothing, text_of


def require_derivable_kinds(spec: CatalogueSpec, *, origin: str) -> None:
    """Refuse a spec with several kinds that does not say which kind a row is; `origin` names it in the error."""
    if not spec.derives_kinds:
        kinds = ", ".join(spec.kinds)
        raise SpecError(
            f"{origin}: it has several kinds ({kinds}) and does not say which of them a row is; say where a row has "
            f'its kind, as in kind = "type", or which files have rows of one kind, as in [kinds.{spec.kinds[-1]}] '
            f'sources = ["{spec.kinds[-1]}s.csv"]'
        )


def find_source_kind(spec: CatalogueSpec, source_name: str) -> str | None:
    """Return the kind of all rows of a source, or None if each row has its own; refuse a source of unknown kind."""
    kinds = [kind for kind, patterns in spec.kind_sources.items() if _is_named(source_name, patterns)]
    if len(kinds) > 1:
        raise InputError(
            f"{source_name}: the 'sources' of several kinds match it ({', '.join(kinds)}); make them match for one kind"
        )
    if kinds:
        return kinds[0]
    if spec.kind_path or len(spec.kinds) == 1:
        return None
    known = "; ".join(f"{kind}: {', '.join(patterns)}" for kind, patterns in spec.kind_sources.items())
    raise InputError(
        f"{source_name}: the kind of its rows is unknown: the 'sources' of no kind match it ({known}); add its name to "
        "one of them, and pass the changed declaration with --spec"
    )


def _is_named(source_name: str, patterns: tuple[str, ...]) -> bool:
    bare = without_settings(source_name)
    names = (source_name, PurePath(source_name).name, bare, PurePath(bare).name)
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def read_kind(row: Mapping[str, Any], spec: CatalogueSpec) -> str:
    """Return the kind in a row; refuse a row whose kind is missing or not declared."""
    if not spec.kind_path:
        return spec.kinds[0]
    stated = value_at(row, spec.kind_path)
    if is_nothing(stated):
        raise InputError(f"'{spec.kind_path}', the record's kind, is missing; kinds: {', '.join(spec.kinds)}")
    if isinstance(stated, list | tuple) and len(stated) > 1:
        raise InputError(f"'{spec.kind_path}', the record's kind, has several values: {text_of(stated)[:60]!r}")
    name = text_of(stated)
    known = {kind.lower(): kind for kind in spec.kinds}
    if name.lower() not in known:
        raise InputError(f"no kind '{name[:60]}'{did_you_mean(name, list(spec.kinds))}; kinds: {', '.join(spec.kinds)}")
    return known[name.lower()]
