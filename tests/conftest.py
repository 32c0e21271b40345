"""What all tests share."""

import pytest
from hypothesis import settings

# How long an example takes says more about the machine's other work than about the code.
settings.register_profile("plink", deadline=None)
settings.load_profile("plink")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of real hosts on shared cores a second chance; the summary names who took it."""
    for item in items:
        if item.get_closest_marker("lab") or item.get_closest_marker("timing"):
            item.add_marker(pytest.mark.flaky(reruns=1))
