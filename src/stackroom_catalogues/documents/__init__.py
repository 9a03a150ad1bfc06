"""Collections of written files: the passages that answer, with their files and lines."""

from importlib.resources import files

from stackroom.api import CataloguePackage, RowMapping, Sample, deferred

FOLDER = files(__package__)
ROWS = "stackroom_catalogues.documents.rows"
"""Not imported to serve: what reads files takes a tenth of a second of CPU to load."""
SAMPLES = {"handbook": "Company handbook", "dnd": "D&D rules", "personal": "Personal notes"}

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=RowMapping(
        records_of=deferred(f"{ROWS}:records_of"),
        records_of_chunk=deferred(f"{ROWS}:records_of_chunk"),
        version=2,
    ),
    open_rows=deferred(f"{ROWS}:open_rows"),
    samples=tuple(
        Sample(name=name, title=title, files=FOLDER / "sample" / name)
        for name, title in SAMPLES.items()
    ),
    reads_folders=True,
    tools=deferred("stackroom_catalogues.documents.tools:tools"),
    replaces_generic_tools=True,
    resources=deferred("stackroom_catalogues.documents.tools:resources"),
)
