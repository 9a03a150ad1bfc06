"""The tools that serve every catalogue: `search`, `fetch`, `similar` and `browse`."""
