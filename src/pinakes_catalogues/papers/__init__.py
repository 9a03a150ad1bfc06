"""The catalogue of research papers: rows of paper metadata into records, and the search over them."""

from importlib.resources import files

from pinakes.api import CataloguePackage, Sample, deferred
from pinakes_catalogues.papers.rows import MAPPING

FOLDER = files(__package__)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    samples=(Sample(name="papers", files=FOLDER / "sample.jsonl"),),
    tools=deferred("pinakes_catalogues.papers.tools:tools"),
    replaces_generic_tools=True,
    serves_all=False,
)
