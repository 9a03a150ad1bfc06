"""`make dist REPOSITORY=https://github.com/OWNER/NAME`: build the files of a release into `dist/`,
and validate them.

Ends with 0 if all is well, with 1 if a validator refuses something, and with 2 without an address.
Without Node the validators from npm are left out, which is said.
"""

import argparse
import os
import sys
from pathlib import Path

from conformance.processes import CannotRunError
from distribution.project import REPO
from distribution.release import SUMS, build_release, find_time
from distribution.validators import InvalidError, validate


def main() -> int:
    """Build, validate, and say what there is."""
    parser = argparse.ArgumentParser(prog="distribution", description=__doc__)
    parser.add_argument(
        "--into", type=Path, default=REPO / "dist", help="the folder, which is emptied first"
    )
    folder = parser.parse_args().into
    repository = os.environ.get("REPOSITORY")
    if not repository:
        print(
            "say where the project lives: make dist REPOSITORY=https://github.com/OWNER/NAME",
            file=sys.stderr,
        )
        return 2
    release = build_release(folder, repository=repository, time_s=find_time())
    for path in [*release.files, release.skill, folder / SUMS]:
        size = "/" if path.is_dir() else f"  {path.stat().st_size:,} bytes"
        print(f"{path.relative_to(folder)}{size}")
    try:
        print(
            f"passed: {', '.join(validate(release.bundle, release.skill))}, and the schema of"
            " server.json"
        )
    except CannotRunError as error:
        print(f"not validated by their own tools, only by schemas: {error}", file=sys.stderr)
    except InvalidError as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
