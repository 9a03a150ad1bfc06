"""Collections of written files: the passages that answer, with their files and lines."""

from importlib.resources import files

from stackroom.api import CataloguePackage, Sample, deferred
from stackroom_catalogues.documents.rows import MAPPING, open_rows

FOLDER = files(__package__)
SAMPLES = {"handbook": "Company handbook", "dnd": "D&D rules", "personal": "Personal notes"}

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    open_rows=open_rows,
    samples=tuple(Sample(name=name, title=title, files=FOLDER / "sample" / name) for name, title in SAMPLES.items()),
    reads_folders=True,
    tools=deferred("stackroom_catalogues.documents.tools:tools"),
    replaces_generic_tools=True,
    resources=deferred("stackroom_catalogues.documents.tools:resources"),
)
