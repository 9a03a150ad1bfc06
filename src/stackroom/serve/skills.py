"""The extension `io.modelcontextprotocol/skills`: the agent skill of a caller, whose files are resources."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from stackroom.serve.caller import Context
from stackroom.tools.skill import FRONTMATTER, Skill

EXTENSION = "io.modelcontextprotocol/skills"
CACHED: dict[str, Any] = {"ttlMs": 60_000, "cacheScope": "private"}
"""How long a client may keep an answer; the pages in it depend on the caller's rights."""

FindSkill = Callable[[Context], Awaitable[Skill | None]]


class SkillParams(types.RequestParams):
    """The parameters of `skills/get`."""

    uri: str


def add_skills(server: Server[Any], find_skill: FindSkill) -> None:
    """Serve `skills/list` and `skills/get`, and declare the extension."""

    async def list_skills(context: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        if params.cursor is not None:
            message = "'cursor' is not valid here: this list has no pages; leave it out"
            raise MCPError(code=types.INVALID_PARAMS, message=message)
        skill = await find_skill(context)
        return {"skills": [skill_entry(skill)] if skill else [], **CACHED}

    async def get_skill(context: Context, params: SkillParams) -> dict[str, Any]:
        skill = await find_skill(context)
        entry = skill_entry(skill) if skill else None
        if entry is None or entry["uri"] != params.uri:
            right = f"; known: {entry['uri']}" if entry else ""
            raise MCPError(code=types.INVALID_PARAMS, message=f"no skill '{params.uri[:200]}'{right}")
        return {"skill": entry, **CACHED}

    server.add_request_handler("skills/list", types.PaginatedRequestParams, list_skills)
    server.add_request_handler("skills/get", SkillParams, get_skill)
    server.extensions[EXTENSION] = {}


def skill_entry(skill: Skill) -> dict[str, Any]:
    """Return a skill as the extension lists it."""
    contents = skill.contents
    resources = [
        {"uri": uri, "digest": f"sha256:{content.digest}", "size": content.size_bytes}
        for uri, content in contents.items()
    ]
    return {"uri": next(iter(contents)), "frontmatter": FRONTMATTER, "resources": resources}
