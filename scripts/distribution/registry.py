"""`server.json`: the entry of the release in the MCP registry (schema 2025-12-11)."""

from typing import Any

from distribution.project import SUMMARY, Project

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
HOME = {
    "name": "STACKROOM_HOME",
    "description": "The folder of the library; by default the platform's data folder",
    "format": "filepath",
    "isRequired": False,
}
VARIABLES: list[dict[str, Any]] = [
    HOME,
    {
        "name": "STACKROOM_MODELS",
        "description": "The folder of the embedding models, which several libraries can share",
        "format": "filepath",
        "isRequired": False,
    },
    {
        "name": "STACKROOM_TOOL_NAMES",
        "description": "plain for clients that allow no dots in the names of tools",
        "choices": ["dotted", "plain"],
        "default": "dotted",
        "isRequired": False,
    },
    {
        "name": "RAG_STRICT_OFFLINE",
        "description": "1 refuses every operation that would need the network",
        "choices": ["0", "1"],
        "default": "0",
        "isRequired": False,
    },
]
"""Environment variables that somebody who installs the server may want to set."""


def registry_entry(project: Project, *, bundle_sha256: str) -> dict[str, Any]:
    """Return the entry: the package in the Python index, and the bundle of the release."""
    return {
        "$schema": SCHEMA,
        "name": project.registry_name,
        "title": project.name.capitalize(),
        "description": SUMMARY,
        "version": project.version,
        "websiteUrl": project.urls["Homepage"],
        "repository": {"url": project.repository, "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": project.name,
                "version": project.version,
                "runtimeHint": "uvx",
                "transport": {"type": "stdio"},
                "packageArguments": [
                    {"type": "positional", "value": "serve"},
                    {
                        "type": "positional",
                        "valueHint": "catalogue",
                        "description": "Serve this catalogue only; default all of the library",
                        "isRepeated": True,
                        "isRequired": False,
                    },
                ],
                "environmentVariables": VARIABLES,
            },
            {
                "registryType": "mcpb",
                "identifier": project.bundle_address,
                "version": project.version,
                "fileSha256": bundle_sha256,
                "transport": {"type": "stdio"},
            },
        ],
    }
