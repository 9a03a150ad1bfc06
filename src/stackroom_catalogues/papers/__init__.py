"""The catalogue of research papers: mapping of metadata, providers, search tool and SQLite
export.
"""

from importlib.resources import files

from stackroom.api import CataloguePackage, Sample, deferred
from stackroom_catalogues.papers.rows import MAPPING

FOLDER = files(__package__)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    providers={
        "arxiv": deferred("stackroom_catalogues.papers.providers:open_arxiv"),
        "s2": deferred("stackroom_catalogues.papers.providers:open_semantic_scholar"),
    },
    samples=(Sample(name="papers", files=FOLDER / "sample.jsonl"),),
    tools=deferred("stackroom_catalogues.papers.tools:TOOLS"),
    replaces_generic_tools=True,
)
