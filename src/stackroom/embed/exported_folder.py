"""Models of the user's own: a folder with `model.onnx`, `tokenizer.json` and `embedding.json`, which says the rest."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from stackroom.embed.models import TOKENIZER, Pooling
from stackroom.errors import ModelError
from stackroom.model.vectors import ModelId

GRAPH = "model.onnx"
NOTES = "embedding.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MAX_TOKENS = 256
"""Longer texts are truncated, also where the model could read more: time grows with the length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedModel:
    """A model of the user's own, and how its vectors are made; they always have unit length."""

    name: str
    dimension: int
    pooling: Pooling = Pooling.MEAN
    query_prefix: str = ""
    document_prefix: str = ""
    max_tokens: int = MAX_TOKENS

    @property
    def id(self) -> ModelId:
        """The identity of the model."""
        return ModelId(name=self.name, dimension=self.dimension)


def find_exported(models: Path, name: str) -> ExportedModel | None:
    """Return the installed model of this name, or None."""
    path = models / name / NOTES
    if not NAME.fullmatch(name) or not path.is_file():
        return None
    try:
        notes = json.loads(path.read_bytes())
        return ExportedModel(**{**notes, "name": name, "pooling": Pooling(notes["pooling"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} must say 'dimension' and 'pooling' (mean or first): {error}") from error


def list_exported(models: Path) -> list[ExportedModel]:
    """Return the installed models of the user's own, by name."""
    found = (find_exported(models, path.parent.name) for path in sorted(models.glob(f"*/{NOTES}")))
    return [model for model in found if model is not None]


def check_exported(folder: Path, name: str) -> list[str]:
    """Return the problems of its folder; empty when it is complete."""
    wanted = (folder / GRAPH, folder / TOKENIZER)
    return [f"{path} is missing: copy it from the export of {name}" for path in wanted if not path.is_file()]
