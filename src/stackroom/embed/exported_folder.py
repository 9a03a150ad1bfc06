"""Models of the user's own: a folder in sentence-transformers' layout with an ONNX export, installed under a name.

Read from the folder: `onnx/model.onnx` or `model.onnx`, `tokenizer.json`, and where they exist `modules.json`,
`1_Pooling/config.json` (pooling), `config_sentence_transformers.json` (prefixes) and `sentence_bert_config.json`
(length). The installed folder has the first two and `embedding.json` with what was read.
"""

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stackroom.embed.models import TOKENIZER, Pooling
from stackroom.errors import InputError, ModelError, NotFoundError
from stackroom.model.vectors import ModelId

GRAPH = "model.onnx"
NOTES = "embedding.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MAX_TOKENS = 256
"""Longer texts are truncated, also where the model could read more: time grows with the length."""

MODULES = ("Transformer", "Pooling", "Normalize")
POOLINGS = {"pooling_mode_cls_token": Pooling.FIRST, "pooling_mode_mean_tokens": Pooling.MEAN}
DOCUMENT_PROMPTS = ("document", "passage", "corpus")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedModel:
    """An installed model of the user's own, and how its vectors are made; they always have unit length."""

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
        raise ModelError(f"{path} is damaged; run: stackroom model pull {name} --from FOLDER --force") from error


def list_exported(models: Path) -> list[ExportedModel]:
    """Return the installed models of the user's own, by name."""
    found = (find_exported(models, path.parent.name) for path in sorted(models.glob(f"*/{NOTES}")))
    return [model for model in found if model is not None]


def check_exported(folder: Path, name: str) -> list[str]:
    """Return the problems of an installed folder; empty when it is complete."""
    pull = f"stackroom model pull {name} --from FOLDER --force"
    return [f"{folder / file} is missing; run: {pull}" for file in (GRAPH, TOKENIZER) if not (folder / file).is_file()]


def read_export(source: Path, name: str) -> ExportedModel:
    """Return how the model in a source folder makes vectors; refuse what is not supported."""
    if not NAME.fullmatch(name):
        raise InputError(f"'{name}' cannot name a model: letters, digits, '.', '-' and '_' only")
    for module in _load_list(source / "modules.json"):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind not in MODULES:
            raise ModelError(
                f"{source / 'modules.json'}: a module of type '{kind}' is not supported; valid: {', '.join(MODULES)}"
            )
    pooling = _load_table(source / "1_Pooling" / "config.json")
    prompts = _load_table(source / "config_sentence_transformers.json").get("prompts") or {}
    longest = _load_table(source / "sentence_bert_config.json").get("max_seq_length") or MAX_TOKENS
    return ExportedModel(
        name=name,
        dimension=int(pooling.get("word_embedding_dimension") or 0),
        pooling=_pooling(source, pooling),
        query_prefix=str(prompts.get("query") or ""),
        document_prefix=next((str(prompts[key]) for key in DOCUMENT_PROMPTS if prompts.get(key)), ""),
        max_tokens=min(int(longest), MAX_TOKENS),
    )


def copy_export(source: Path, target: Path) -> None:
    """Copy the graph, with its external data, and the tokenizer."""
    graph = next((path for path in (source / "onnx" / GRAPH, source / GRAPH) if path.is_file()), None)
    if graph is None:
        raise NotFoundError(f"{source}: neither onnx/{GRAPH} nor {GRAPH} in it; export the model to ONNX first")
    tokenizer = next((path for path in (source / TOKENIZER, graph.parent / TOKENIZER) if path.is_file()), None)
    if tokenizer is None:
        raise NotFoundError(f"{source}: no {TOKENIZER} in it; export the model with its tokenizer")
    shutil.copyfile(tokenizer, target / TOKENIZER)
    for path in graph.parent.glob(f"{GRAPH}*"):
        shutil.copyfile(path, target / path.name)


def write_notes(model: ExportedModel, target: Path) -> None:
    """Write how vectors are made; the model is complete with it."""
    notes = {key: value for key, value in asdict(model).items() if key != "name"}
    (target / NOTES).write_text(json.dumps(notes, indent=2), encoding="utf-8")


def _pooling(source: Path, config: dict[str, Any]) -> Pooling:
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    if not chosen:
        return Pooling.MEAN
    if len(chosen) > 1 or chosen[0] not in POOLINGS:
        known = ", ".join(POOLINGS)
        path = source / "1_Pooling" / "config.json"
        raise ModelError(f"{path}: {' with '.join(chosen)} is not supported; supported: {known}")
    return POOLINGS[chosen[0]]


def _load_table(path: Path) -> dict[str, Any]:
    found = _load(path)
    return found if isinstance(found, dict) else {}


def _load_list(path: Path) -> list[dict[str, Any]]:
    found = _load(path)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _load(path: Path) -> Any:
    """Return the content of a JSON file; None where there is none."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: not a JSON file; export the model again") from error
