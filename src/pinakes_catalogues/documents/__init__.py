"""Collections of written files: the passages that answer, with their files and lines."""

from importlib.resources import files

from pinakes.api import CataloguePackage, Sample, deferred
from pinakes_catalogues.documents.rows import MAPPING, open_rows

FOLDER = files(__package__)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    open_rows=open_rows,
    samples=tuple(Sample(name=name, files=FOLDER / "sample" / name) for name in ("handbook", "dnd", "personal")),
    reads_folders=True,
    tools=deferred("pinakes_catalogues.documents.tools:tools"),
    replaces_generic_tools=True,
    resources=deferred("pinakes_catalogues.documents.tools:resources"),
)
