"""One port for everything: MCP by Streamable HTTP, SSE and WebSocket, REST, health, metrics, the
page.
"""
