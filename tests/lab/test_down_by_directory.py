"""`lab down --dir` takes down the lab of that folder, or none."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from labkit import building
from labkit.commands import COMMANDS
from labkit.errors import LabError
from labkit.registry import COPY_NAME, STATE_FILE


@pytest.fixture
def demolished(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the labs whose namespaces would have been removed."""
    names: list[str] = []
    monkeypatch.setattr(building, "demolish", names.append)
    return names


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """Where a lab of the default name is listed, whose state is damaged too."""
    folder = tmp_path / "registry" / "lab"
    folder.mkdir(parents=True)
    (folder / STATE_FILE).write_text("{")
    return tmp_path / "registry"


def down(registry: Path, *, name: str | None, directory: Path | None) -> None:
    where = None if directory is None else str(directory)
    COMMANDS["down"](Namespace(name=name, dir=where, inside=["0", "0", str(registry)]))


def test_a_damaged_folder_takes_no_other_lab_down(
    tmp_path: Path, registry: Path, demolished: list[str]
) -> None:
    (tmp_path / COPY_NAME).write_text("{")
    with pytest.raises(LabError, match="not a description of a lab") as caught:
        down(registry, name=None, directory=tmp_path)
    assert caught.value.hint is not None
    assert "--name" in caught.value.hint
    assert demolished == []
    assert (registry / "lab" / STATE_FILE).exists()


@pytest.mark.parametrize("name", [None, "lab"])
def test_a_damaged_state_is_taken_down_by_name(
    name: str | None, registry: Path, demolished: list[str]
) -> None:
    with pytest.raises(LabError, match="files remain"):
        down(registry, name=name, directory=None)
    assert demolished == ["lab"]
    assert not (registry / "lab").exists()
