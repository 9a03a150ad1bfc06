"""Users, roles, credentials, permissions and limits."""
