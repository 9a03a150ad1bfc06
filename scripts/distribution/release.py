"""Builds the files of a release into a folder, always the same bytes from the same commit."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import jsonschema

from distribution.archive import write_zip
from distribution.bundle import bundle_files
from distribution.project import REPO, Project, load_project
from distribution.registry import registry_entry

SUMS = "SHA256SUMS"
SKILL = REPO / "skill"
"""The agent skill, as its folder is copied into the skills folder of a client."""
SERVER_SCHEMA = Path(__file__).parent / "server.schema.json"


@dataclass(frozen=True, kw_only=True)
class Release:
    """The files of a release."""

    wheel: Path
    source: Path
    bundle: Path
    registry: Path
    skill: Path
    """The skill's folder."""
    skill_archive: Path

    @property
    def files(self) -> list[Path]:
        """The files that are uploaded."""
        return [self.wheel, self.source, self.bundle, self.registry, self.skill_archive]


def build_release(folder: Path, *, repository: str, time_s: int) -> Release:
    """Build everything into an empty folder; `time_s` is the time that archives state."""
    project = load_project(repository)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wheel, source = _build_package(folder, project, time_s)
    bundle = folder / project.bundle_name
    write_zip(bundle, bundle_files(project, wheel), time_s=time_s)
    skill, archive = _write_skill(folder, project, time_s)
    release = Release(
        wheel=wheel,
        source=source,
        bundle=bundle,
        registry=_write_registry(folder, project, bundle),
        skill=skill,
        skill_archive=archive,
    )
    write_sums(folder, release.files)
    return release


def find_time() -> int:
    """Return the time of the release: SOURCE_DATE_EPOCH, or else that of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    shown = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=REPO, capture_output=True, text=True, check=True
    ).stdout
    return int(shown)


def write_sums(folder: Path, files: list[Path]) -> None:
    """Write the checksums in the form that `sha256sum --check` reads."""
    lines = [f"{_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in sorted(files)]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def _build_package(folder: Path, project: Project, time_s: int) -> tuple[Path, Path]:
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-d",
        str(folder),
        "-t",
        "wheel",
        "-t",
        "sdist",
    ]
    environment = {**os.environ, "REPOSITORY": project.repository, "SOURCE_DATE_EPOCH": str(time_s)}
    subprocess.run(command, cwd=REPO, env=environment, check=True, stdout=subprocess.DEVNULL)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def skill_files() -> dict[str, bytes]:
    """Return the files of the agent skill by their paths, with its folder."""
    return {
        path.relative_to(SKILL).as_posix(): path.read_bytes()
        for path in sorted(SKILL.rglob("*.md"))
    }


def _write_skill(folder: Path, project: Project, time_s: int) -> tuple[Path, Path]:
    files = skill_files()
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    archive = folder / f"{project.name}-skill-{project.version}.zip"
    write_zip(archive, files, time_s=time_s)
    return folder / project.name, archive


def _write_registry(folder: Path, project: Project, bundle: Path) -> Path:
    entry = registry_entry(project, bundle_sha256=_sha256(bundle))
    jsonschema.validate(entry, json.loads(SERVER_SCHEMA.read_text(encoding="utf-8")))
    path = folder / "server.json"
    path.write_text(json.dumps(entry, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
