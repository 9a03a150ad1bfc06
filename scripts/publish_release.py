"""Publish the next release of a catalogue: read its source again, grade it, build its pack, sign
and publish it.

    python scripts/publish_release.py films https://example.org/films.csv --folder site --upload

For a schedule: where nothing has changed, nothing is published. It needs the command `stackroom`,
and `minisign` to sign, so that it can be copied. The library (STACKROOM_HOME) should be kept
between runs, since texts in it are not embedded again; without it, everything is built anew. An
update that answers worse than before is refused by `stackroom add`, and ends this with its exit
code. With --upload, the new files are uploaded by GitHub's own tool, `gh`; a folder without
releases gets the newest one from there first, so that there are patches from it.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RELEASES = "releases"

Run = Callable[[Sequence[str]], str]
"""Runs a command, and returns its standard output; raises where it fails."""


def run_command(command: Sequence[str]) -> str:
    """Run a command; its messages are shown."""
    print(f"$ {' '.join(command)}", file=sys.stderr, flush=True)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def publish_release(options: argparse.Namespace, run: Run = run_command) -> dict[str, Any]:
    """Do all steps, or those of one half, and return what `stackroom pack publish` says."""
    if options.step != "publish":
        build_pack(options, run)
    return publish_pack(options, run) if options.step != "build" else {"published": False}


def build_pack(options: argparse.Namespace, run: Run) -> None:
    """Read the source again, grade the catalogue, build the pack, and sign it where a key is
    given.
    """
    name, pack = options.catalogue, str(options.pack)
    run(["stackroom", "add", options.source, "--name", name, "--yes", *options.add])
    if options.questions:
        run(["stackroom", "eval", name, "--questions", str(options.questions)])
    licence = ["--licence", options.licence] if options.licence else []
    run(["stackroom", "pack", "build", name, pack, "--version", options.version, *licence])
    if options.key:
        run(["minisign", "-S", "-s", str(options.key), "-m", str(Path(pack) / "manifest.json")])


def publish_pack(options: argparse.Namespace, run: Run) -> dict[str, Any]:
    """Publish the pack, with its signature if it has one, and upload the new files."""
    name, pack, folder = options.catalogue, str(options.pack), Path(options.folder)
    if options.upload and not (folder / RELEASES).is_dir():
        bring_newest(folder, run)
    publish = ["stackroom", "pack", "publish", pack, str(folder), "--json"]
    published: dict[str, Any] = json.loads(run(publish))
    if options.upload and published["published"]:
        title = f"{name} {published['version']}"
        files = [str(path) for path in published["files"]]
        upload = ["gh", "release", "create", published["tag"], *files]
        try:
            run([*upload, "--title", title, "--notes", options.notes or title])
        except BaseException:
            # so that the next run publishes it again
            shutil.rmtree(folder / RELEASES / published["tag"])
            raise
    return published


def bring_newest(folder: Path, run: Run) -> None:
    """Bring the newest release of the repository into the folder of the releases, if there is
    one.
    """
    newest = json.loads(run(["gh", "release", "list", "--limit", "1", "--json", "tagName"]) or "[]")
    for release in newest:
        tag = release["tagName"]
        run(["gh", "release", "download", tag, "--dir", str(folder / RELEASES / tag)])


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("catalogue", help="the name of the catalogue")
    parser.add_argument(
        "source", help="the file, folder or address that it is built from, as for stackroom add"
    )
    parser.add_argument(
        "--add",
        nargs="*",
        default=[],
        help="more options of stackroom add, such as --add=--as=films",
    )
    parser.add_argument("--folder", required=True, help="the folder of the releases")
    parser.add_argument("--pack", default="pack", help="the folder that the pack is built in")
    parser.add_argument(
        "--version", default=datetime.now(UTC).strftime("%Y.%m.%d"), help="by default the date"
    )
    parser.add_argument("--licence", help="the licence of the data, such as CC0-1.0")
    parser.add_argument("--key", help="a secret key of minisign to sign with, without a password")
    parser.add_argument(
        "--questions", type=int, default=300, help="how many questions to grade it by; 0: none"
    )
    parser.add_argument("--notes", default="", help="a text about the release")
    parser.add_argument(
        "--step", choices=("build", "publish"), help="only this half, so that signing is apart"
    )
    parser.add_argument(
        "--upload", action="store_true", help="upload the new files with gh release create"
    )
    return parser.parse_args(arguments)


def main() -> None:
    """Publish, and print what was published."""
    try:
        published = publish_release(parse_options())
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
    print(json.dumps(published, indent=2))


if __name__ == "__main__":
    main()
