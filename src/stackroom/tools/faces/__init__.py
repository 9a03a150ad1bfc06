"""What each surface makes of an operation; none knows one by its name."""
