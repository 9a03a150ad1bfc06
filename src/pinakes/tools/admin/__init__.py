"""Tools to run the server by: users, jobs, downloads, analytics, the server itself, and what is inside."""
