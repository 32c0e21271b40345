"""Which groups of system packages a test needs, so that only those of chosen tests are installed.

The groups are those of `scripts/lib/packages.sh`. A test says so by `pytest.mark.needs("mpi")`; the
mark `lab` says `lab`, and `tools`, which are run on its hosts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

GROUPS = {
    *(
        "lab",
        "tools",
        "mpi",
        "slurm",
        "browser",
        "redis",
        "containers",
        "shells",
        "man",
        "kubernetes",
        "simgrid",
        "dask",
        "ray",
    ),
}

_running: set[str] = set()


def needs_of(item: pytest.Item) -> set[str]:
    """The groups that a test says it needs."""
    found = {group for mark in item.iter_markers("needs") for group in mark.args}
    assert found <= GROUPS, f"{item.nodeid} needs unknown groups: {found - GROUPS}"
    return found | {"lab", "tools"} if item.get_closest_marker("lab") else found


def declared(group: str) -> None:
    """Fail unless the test that runs now says that it needs the group."""
    if group not in _running:
        pytest.fail(f"mark this test with pytest.mark.needs({group!r})")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--needs FILE`."""
    parser.addoption(
        "--needs", type=Path, help="write the groups that the chosen tests need into this file"
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write what `--needs` asks for."""
    file: Path | None = session.config.getoption("--needs")
    if file is not None:
        needed = {group for item in session.items for group in needs_of(item)}
        file.write_text("".join(f"{group}\n" for group in sorted(needed)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Know what the running test says, for `declared`."""
    _running.clear()
    _running.update(needs_of(item))
    return (yield)
