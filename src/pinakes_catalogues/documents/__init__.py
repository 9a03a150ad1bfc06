"""Collections of written files: the passages that answer, with their files and lines."""
