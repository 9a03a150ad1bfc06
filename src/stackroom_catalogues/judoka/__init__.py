"""Judoka cards of JU-DO-KON!, techniques, and passages of documentation and code patterns."""

from importlib.resources import files

from stackroom.api import CataloguePackage, Sample, deferred
from stackroom_catalogues.judoka.rows import MAPPING, keep_files, open_rows

FOLDER = files(__package__)

PACKAGE = CataloguePackage(
    declaration=FOLDER / "catalogue.toml",
    mapping=MAPPING,
    open_rows=open_rows,
    keep_files=keep_files,
    samples=(Sample(name="judoka", files=FOLDER / "sample"),),
    tools=deferred("stackroom_catalogues.judoka.tools:TOOLS"),
    replaces_generic_tools=True,
    resources=deferred("stackroom_catalogues.judoka.tools:resources"),
)
