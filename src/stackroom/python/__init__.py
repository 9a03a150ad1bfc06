"""The Python API: open a library, add to it, and ask it, as assistants do over MCP.

What `import stackroom` offers is public; everything else may change at any time.
"""
