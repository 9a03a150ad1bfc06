"""The anime catalogue: rows of an anime-offline-database file into records, and the tools over
them.
"""

from importlib.resources import files

from stackroom.api import CataloguePackage, Sample, deferred
from stackroom_catalogues.anime.rows import MAPPING

FOLDER = files(__package__)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    samples=(Sample(name="anime", files=FOLDER / "sample.jsonl"),),
    tools=deferred("stackroom_catalogues.anime.tools:TOOLS"),
    replaces_generic_tools=True,
)
