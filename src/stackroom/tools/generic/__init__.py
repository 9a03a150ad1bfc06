"""The tools and prompts that serve every catalogue: `search`, `fetch`, `similar` and `browse`."""
