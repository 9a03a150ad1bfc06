"""The files that deploy several servers: valid by the schemas of Compose and Kubernetes, bounded,
without secrets.
"""

import importlib.resources
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from support.pages import ROOT

kubernetes_validate = pytest.importorskip("kubernetes_validate")
pytest.importorskip("check_jsonschema")

pytestmark = pytest.mark.row("N16")

COMPOSE = ("compose.yaml", "cluster.yaml")
KUBERNETES = "1.33"
DEPLOY = ROOT / "deploy"


def objects() -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8")))


def containers() -> Iterator[tuple[Any, bool]]:
    """Yield every container, and whether it serves."""
    for one in objects():
        if one["kind"] == "StatefulSet":
            pod = one["spec"]["template"]["spec"]
            yield from ((container, True) for container in pod["containers"])
            yield from ((container, False) for container in pod["initContainers"])


@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_file_follows_the_specification(name: str) -> None:
    packaged = (
        importlib.resources.files("check_jsonschema")
        / "builtin_schemas"
        / "vendor"
        / "compose-spec.json"
    )
    schema = json.loads(packaged.read_text(encoding="utf-8"))
    file = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
    jsonschema.validate(file, schema, cls=jsonschema.Draft7Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**file, "servces": {}}, schema, cls=jsonschema.Draft7Validator)


def test_every_object_of_kubernetes_follows_its_schema() -> None:
    kinds = [one["kind"] for one in objects()]
    assert kinds.count("StatefulSet") == 2
    for one in objects():
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**objects()[-1], "sepc": {}}, KUBERNETES, strict=True)


def test_containers_are_bounded_and_write_to_their_volumes_only() -> None:
    for container, serves in containers():
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert set(container["resources"]["limits"]) == {"cpu", "memory"}
        assert not serves or {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
    compose = yaml.safe_load((DEPLOY / "cluster.yaml").read_text(encoding="utf-8"))["services"]
    for service in compose.values():
        assert service["read_only"] is True
        assert {"mem_limit", "cpus"} <= set(service)


def test_there_are_three_servers_a_primary_and_a_replica() -> None:
    replicas = {
        one["metadata"]["name"]: one["spec"]["replicas"]
        for one in objects()
        if one["kind"] == "StatefulSet"
    }
    assert replicas == {"stackroom": 3, "stackroom-database": 2}
    compose = yaml.safe_load((DEPLOY / "cluster.yaml").read_text(encoding="utf-8"))["services"]
    assert set(compose) == {"db-1", "db-2", "stackroom"}
    assert compose["stackroom"]["deploy"]["replicas"] == 3


def test_secrets_are_referred_to() -> None:
    for container, _ in containers():
        for variable in container.get("env", ()):
            is_secret = re.search("PASSWORD|CONTROL_URL", variable["name"])
            assert bool(is_secret) == ("valueFrom" in variable)
    text = (DEPLOY / "cluster.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"PASSWORD: (.*)", text)) == {"${POSTGRES_PASSWORD:?set it in .env}"}
