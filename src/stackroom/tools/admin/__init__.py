"""Admin tools: users, jobs, analytics, logs, and the state of the server."""
