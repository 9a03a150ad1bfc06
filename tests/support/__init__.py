"""Code that several tests share: reference implementations, builders and fixtures."""
