"""The `debug.sql` tool: read-only SQL in a bounded child process."""
