"""The one path every call takes: permission, validation, run."""
