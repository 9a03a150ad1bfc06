"""The same examples in every run, so that a failure is the code's; `--hypothesis-profile=default` draws anew."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)


def pytest_configure(config: object) -> None:
    """Fix the draw, unless another profile was asked for."""
    asked = getattr(getattr(config, "option", None), "hypothesis_profile", None)
    settings.load_profile(asked or "fixed")
