"""The catalogue of research papers: mapping of metadata, providers, search tool and SQLite export."""

from importlib.resources import files

from pinakes.api import CataloguePackage, Example, Sample, deferred
from pinakes_catalogues.papers.rows import MAPPING

FOLDER = files(__package__)
EXAMPLES = (Example(query="attention for machine translation", of_everything=True),)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    providers={
        "arxiv": deferred("pinakes_catalogues.papers.arxiv:open_arxiv"),
        "s2": deferred("pinakes_catalogues.papers.semantic_scholar:open_semantic_scholar"),
    },
    export_files=deferred("pinakes_catalogues.papers.table:export_files"),
    samples=(Sample(name="papers", files=FOLDER / "sample.jsonl", examples=EXAMPLES),),
    tools=deferred("pinakes_catalogues.papers.tools:tools"),
    replaces_generic_tools=True,
    commands={
        "export": (
            "pinakes_catalogues.papers.export:export_command",
            "Write a catalogue of papers to an SQLite table, with its vectors.",
        )
    },
)
