"""Collections of written files: the passages that answer, with their files and lines."""

from importlib.resources import files

from pinakes.api import CataloguePackage, Example, Sample, deferred
from pinakes_catalogues.documents.rows import MAPPING, open_rows

FOLDER = files(__package__)
EXAMPLES = {
    "handbook": (Example(query="how do we review code", of_everything=True),),
    "dnd": (Example(query="a fireball in a crowded room", of_everything=True),),
    "personal": (),
}

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    open_rows=open_rows,
    samples=tuple(
        Sample(name=name, files=FOLDER / "sample" / name, examples=examples) for name, examples in EXAMPLES.items()
    ),
    reads_folders=True,
    tools=deferred("pinakes_catalogues.documents.tools:tools"),
    replaces_generic_tools=True,
    resources=deferred("pinakes_catalogues.documents.tools:resources"),
)
