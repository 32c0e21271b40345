"""Where the simulator is kept, and what is said where it cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.base.errors import PlinkError
from plink.simulate.simgrid import program


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A compiler and a SimGrid as far as is asked, and nothing that an earlier test found."""
    monkeypatch.setenv("CXX", "true")
    monkeypatch.setattr(program, "version_of_simgrid", lambda _compiler: "3.32")
    program.simulator.cache_clear()
    yield
    program.simulator.cache_clear()


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(PlinkError, match="no home folder") as caught:
        program.simulator()
    assert caught.value.hint is not None
    assert "XDG_CACHE_HOME" in caught.value.hint


@pytest.mark.parametrize("which", ["another's", "read-only"])
def test_a_folder_that_cannot_be_used_is_named(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def refuse(*_arguments: object, **_named: object) -> bool:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    # Root may do anything, so that permissions alone would not show it.
    monkeypatch.setattr(Path, "exists" if which == "another's" else "mkdir", refuse)
    with pytest.raises(PlinkError, match=r"cache/plink: keeps no simulator: Permission denied"):
        program.simulator()
