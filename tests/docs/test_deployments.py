"""The file that deploys a server with Compose is valid."""

import importlib.resources
import json

import jsonschema
import pytest
from ruamel.yaml import YAML

from support.pages import ROOT

pytest.importorskip("check_jsonschema")


def test_the_compose_file_follows_the_specification() -> None:
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text(encoding="utf-8"))
    file = YAML(typ="safe").load(ROOT / "deploy" / "compose.yaml")
    jsonschema.validate(file, schema, cls=jsonschema.Draft7Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**file, "servces": {}}, schema, cls=jsonschema.Draft7Validator)
