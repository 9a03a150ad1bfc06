"""The agent skill as files: the same that the server offers, with the pages of the packages that ship."""

from collections.abc import Mapping

from stackroom.packages import PACKAGES
from stackroom.tools.skill import NAME, build_skill


def skill_files() -> Mapping[str, bytes]:
    """Return the files of the skill's folder by their paths, which begin with its name."""
    pages = {one.name: one.skill_page.read_text(encoding="utf-8") for one in PACKAGES.iter_packages() if one.skill_page}
    return {f"{NAME}/{path}": text.encode() for path, text in build_skill(pages).files.items()}
