"""The anime catalogue: rows of an anime-offline-database file into records, and the tools over them."""

from importlib.resources import files

from pinakes.api import CataloguePackage, Example, Range, Sample, deferred
from pinakes_catalogues.anime.rows import MAPPING

FOLDER = files(__package__)
EXAMPLES = (
    Example(query="melancholy journey through space"),
    Example(query="fulmetal alchemst"),
    Example(query="進撃の巨人"),
    Example(query="cooking contests", conditions=(Range("year", 2010),)),
    Example(titles=("Cowbow Bebop",), preferences="post-2010, not horror, under 26 episodes"),
)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    samples=(Sample(name="anime", files=FOLDER / "sample.jsonl", examples=EXAMPLES),),
    tools=deferred("pinakes_catalogues.anime.tools:tools"),
    replaces_generic_tools=True,
    prompts=deferred("pinakes_catalogues.anime.prompts:prompts"),
    skill_page=FOLDER / "skill.md",
)
