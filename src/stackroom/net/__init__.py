"""HTTP clients with time and size limits, SSRF-safe downloads, and the package index."""
