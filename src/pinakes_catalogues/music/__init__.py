"""Artists, albums and tracks."""

from importlib.resources import files

from pinakes.api import CataloguePackage, Sample, deferred
from pinakes_catalogues.music.rows import MAPPING, keep_files, open_rows

FOLDER = files(__package__)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    open_rows=open_rows,
    keep_files=keep_files,
    samples=(Sample(name="music", files=FOLDER / "sample" / "library.jsonl"),),
    tools=deferred("pinakes_catalogues.music.tools:tools"),
    replaces_generic_tools=True,
    prompts=deferred("pinakes_catalogues.music.prompts:prompts"),
    skill_page=FOLDER / "skill.md",
    own_kinds=deferred("pinakes_catalogues.music.player.own:own_kinds"),
    media=deferred("pinakes_catalogues.music.media:media"),
    endpoints=deferred("pinakes_catalogues.music.player.endpoints:list_endpoints"),
    server="pinakes_catalogues.music.server:build_server_parts",
)
