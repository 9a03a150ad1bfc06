"""Bundle, registry entry and skill say what the code has (version, settings, tools) and keep their
limits.
"""

import importlib.util
import json
import re
import struct
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from distribution.archive import write_zip
from distribution.bundle import (
    PYTHON,
    SOURCES,
    USER_CONFIG,
    bundle_files,
    manifest,
    pinned_versions,
)
from distribution.project import REPO, load_project
from distribution.registry import registry_entry
from distribution.release import SERVER_SCHEMA, skill_files, write_sums
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from stackroom import __version__
from stackroom.cli.main import COMMANDS
from stackroom.settings import ENVIRONMENT
from stackroom.tools.spec import FromFile

pytestmark = pytest.mark.row("N17")

PROJECT = load_project("https://github.com/owner/repo")
TOOLS = {
    tool["name"]: tool
    for tool in json.loads((REPO / "tests/golden/all-tools.json").read_text(encoding="utf-8"))[
        "tools"
    ]
}
DIGEST = "0" * 64
SCHEMA = json.loads(SERVER_SCHEMA.read_text(encoding="utf-8"))
SKILL = {path: content.decode() for path, content in skill_files().items()}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    wheel = tmp_path_factory.mktemp("wheel") / f"stackroom-{__version__}-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    return dict(bundle_files(PROJECT, wheel))


def placeholders(value: Any) -> set[str]:
    return set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(value)))


def test_the_manifest_has_the_version_and_the_tools_of_the_code() -> None:
    made = manifest(PROJECT)
    assert made["version"] == __version__
    assert {tool["name"]: tool["description"] for tool in made["tools"]} == {
        name: TOOLS[name]["description"]
        for name in ("search", "fetch", "similar", "browse", "explain")
    }
    assert made["tools_generated"] is True


def test_every_option_of_the_bundle_reaches_the_server_and_has_a_default() -> None:
    config = manifest(PROJECT)["server"]["mcp_config"]
    assert placeholders(config["env"]) == set(USER_CONFIG)
    assert placeholders(config["args"]) == set()
    assert all(
        "default" in option and option["title"] and option["description"]
        for option in USER_CONFIG.values()
    )
    entry_point = (SOURCES / manifest(PROJECT)["server"]["entry_point"]).read_text(encoding="utf-8")
    assert all(f'"{name}"' in entry_point for name in config["env"])


def test_every_file_that_the_manifest_names_is_in_the_bundle(bundle: dict[str, bytes]) -> None:
    made = json.loads(bundle["manifest.json"])
    assert {made["server"]["entry_point"], made["icon"], "pyproject.toml", "LICENSE"} <= set(bundle)
    width, height = struct.unpack(">II", bundle[made["icon"]][16:24])
    assert made["icons"] == [{"src": made["icon"], "size": f"{width}x{height}"}]


def test_the_bundle_installs_the_wheel_in_it_with_the_versions_that_were_tested(
    bundle: dict[str, bytes],
) -> None:
    made = tomllib.loads(bundle["pyproject.toml"].decode())
    assert made["tool"]["uv"]["sources"]["stackroom"]["path"] in bundle
    assert made["project"]["dependencies"] == [f"stackroom=={__version__}"]
    pins = {
        canonicalize_name(one.name): one
        for one in map(Requirement, made["tool"]["uv"]["constraint-dependencies"])
    }
    declared = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    for needed in map(Requirement, declared):
        (pinned,) = pins[canonicalize_name(needed.name)].specifier
        assert needed.specifier.contains(pinned.version), needed


def test_versions_of_a_lock_file_keep_their_markers_and_leave_intel_macs_free() -> None:
    lock = (
        'numpy==2.4.0 \\\n    --hash=sha256:0\nuvloop==0.23.0 ; sys_platform != "win32" \\\n   '
        " --hash=sha256:1\n"
    )
    numpy, uvloop = map(Requirement, pinned_versions(lock))
    intel = {"sys_platform": "darwin", "platform_machine": "x86_64"}
    assert str(numpy.specifier) == "==2.4.0"
    assert numpy.marker is not None
    assert uvloop.marker is not None
    assert [one.evaluate(intel) for one in (numpy.marker, uvloop.marker)] == [False, False]
    for platform, bound in (("linux", [True, True]), ("win32", [True, False])):
        place = {"sys_platform": platform, "platform_machine": "x86_64"}
        assert [one.evaluate(place) for one in (numpy.marker, uvloop.marker)] == bound


def test_the_bundle_runs_with_pythons_that_the_package_allows() -> None:
    allowed, wanted = SpecifierSet(PROJECT.python), SpecifierSet(PYTHON)
    versions = [f"3.{minor}" for minor in range(8, 20)]
    assert list(wanted.filter(versions)) == ["3.11", "3.12", "3.13"]
    assert set(wanted.filter(versions)) <= set(allowed.filter(versions))


def load_entry_point() -> Any:
    spec = importlib.util.spec_from_file_location("bundle_server", SOURCES / "src/server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, ""),
        ("", ""),
        ("${user_config.library}", ""),
        ("/data/library", "/data/library"),
        ("${HOME}/library", f"{Path.home()}/library"),
    ],
)
def test_an_option_that_the_host_left_as_a_placeholder_counts_as_not_set(
    monkeypatch: pytest.MonkeyPatch, given: str | None, meant: str
) -> None:
    monkeypatch.delenv("STACKROOM_HOME", raising=False)
    if given is not None:
        monkeypatch.setenv("STACKROOM_HOME", given)
    assert load_entry_point().option("STACKROOM_HOME") == meant


def test_the_registry_entry_follows_the_schema_and_names_existing_commands_and_settings() -> None:
    entry = registry_entry(PROJECT, bundle_sha256=DIGEST)
    jsonschema.validate(entry, SCHEMA)
    package, bundle = entry["packages"]
    assert entry["version"] == package["version"] == bundle["version"] == __version__
    assert package["packageArguments"][0]["value"] in COMMANDS
    names = {one["name"] for one in package["environmentVariables"]}
    assert names <= {"STACKROOM_HOME", *ENVIRONMENT}
    assert bundle["identifier"].endswith(f"/v{__version__}/{PROJECT.bundle_name}")


def test_every_address_follows_from_the_repository() -> None:
    entry = registry_entry(PROJECT, bundle_sha256=DIGEST)
    assert entry["name"] == "io.github.owner/stackroom"
    written = json.dumps([entry, manifest(PROJECT)])
    hosts = set(re.findall(r"https://(github\.com/[\w-]+/[\w-]+)", written))
    assert hosts == {"github.com/owner/repo"}


def frontmatter() -> dict[str, str]:
    lines = SKILL["stackroom/SKILL.md"].split("---\n")[1].splitlines()
    pairs = [line.split(": ", 1) for line in lines if ": " in line and not line.startswith(" ")]
    return {key: json.loads(value) if value.startswith('"') else value for key, value in pairs}


def test_the_skill_keeps_the_limits_of_the_format() -> None:
    head = frontmatter()
    assert head["name"] == "stackroom"
    assert len(head["description"]) <= 1024
    assert len(head["compatibility"]) <= 500
    assert f'version: "{__version__}"' in SKILL["stackroom/SKILL.md"]
    assert all(len(text.splitlines()) < 500 for text in SKILL.values())
    linked = set(re.findall(r"\]\((references/[\w-]+\.md)\)", SKILL["stackroom/SKILL.md"]))
    assert {f"stackroom/{path}" for path in linked} == SKILL.keys() - {"stackroom/SKILL.md"}


@pytest.mark.parametrize("path", SKILL)
def test_the_skill_names_tools_arguments_fields_and_errors_that_there_are(path: str) -> None:
    written = set(re.findall(r"`([a-z][\w.]*)`", SKILL[path]))
    pages = [
        (REPO / "docs/reference" / name).read_text(encoding="utf-8")
        for name in ("tools.md", "errors.md")
    ]
    blocks = [
        block
        for page in pages
        for block in re.findall(r"^```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    ]
    known = {
        part
        for page in pages
        for code in re.findall(r"`([^`\n]+)`", page)
        for part in code.split(".")
    }
    known |= {word for block in blocks for word in re.findall(r"\w+", block)}
    assert written - known - TOOLS.keys() - FromFile.model_fields.keys() - {"flagged"} == set()


def test_a_zip_has_the_same_bytes_for_the_same_files_and_time(tmp_path: Path) -> None:
    files = {"b.txt": b"b", "a/b.txt": b"a" * 1_000}
    for name, order, time_s in (("1", 1, 0), ("2", -1, 0), ("3", 1, 1_800_000_000)):
        write_zip(tmp_path / name, dict(list(files.items())[::order]), time_s=time_s)
    first, second, third = ((tmp_path / name).read_bytes() for name in "123")
    assert first == second
    assert first != third


def test_checksums_are_in_the_form_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"")
    (tmp_path / "a").write_bytes(b"x")
    write_sums(tmp_path, [tmp_path / "b", tmp_path / "a"])
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    lines = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert [line[64:] for line in lines] == ["  a", "  b"]
    assert lines[1].startswith(empty)
