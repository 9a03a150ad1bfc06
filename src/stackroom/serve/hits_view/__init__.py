"""The hits of a search inside an assistant: an MCP App, offered to clients that show such views."""
