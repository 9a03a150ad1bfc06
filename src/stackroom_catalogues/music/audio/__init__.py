"""Audio files: which files are read, and what their tags say."""
