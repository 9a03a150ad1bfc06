"""Background jobs: their declarations, schedule, runs and scheduler."""
