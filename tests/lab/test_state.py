"""What is kept about a lab: it comes back as it was, and nothing hostile comes back at all."""

from __future__ import annotations

import json
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from labkit.errors import LabError, UnreadableStateError, WrongUseError
from labkit.lifecycle import remove_files
from labkit.login import Login
from labkit.registry import COPY_NAME, Registry
from labkit.shape import RackShape, RowShape, Shape
from labkit.state import State, checked_lab_name, from_json, to_json
from labkit.topology import place
from plink.base.replacing import replace


def state_in(directory: Path, identity: str = "1") -> State:
    shape = Shape((RackShape(3, None, 1_000_000, 2, row=0),), (RowShape(None, 1),))
    topology = place("t", shape, 1, IPv4Network("10.140.3.0/24"))
    return State(identity, directory, True, Login("root", 0, 0, "/root", False), topology, ("n02",))


def test_comes_back_as_it_was() -> None:
    state = state_in(Path("/tmp/t"))
    assert from_json(to_json(state), "x") == state


def test_a_routed_lab_comes_back_as_it_was() -> None:
    shape = Shape((RackShape(3, None, 1_000_000, 2), RackShape(1, None, None, 0)), routed=True)
    topology = place("t", shape, 1, IPv4Network("10.140.3.0/24"))
    state = State("1", Path("/tmp/t"), True, Login("root", 0, 0, "/root", False), topology)
    assert from_json(to_json(state), "x") == state
    assert from_json(to_json(state), "x").topology.is_routed


def changed(path: list[Any], value: Any) -> str:
    document = json.loads(to_json(state_in(Path("/tmp/t"))))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        to_json(state_in(Path("/tmp/t")))[:-40],
        changed(["format"], "plink.order"),
        changed(["version"], 2),
        changed(["directory"], "relative"),
        changed(["directory"], None),
        changed(["stopped"], ["../n02"]),
        changed(["stopped"], 3),
        changed(["topology", "lab"], "../../etc"),
        changed(["topology", "lab"], "*"),
        changed(["topology", "subnet"], "10.0.0.0/99"),
        changed(["topology", "switches", 0, "subnet"], "10.0.0.0/24 dev eth0"),
        changed(["topology", "hosts", 0, "name"], "n01 type veth"),
        changed(["topology", "hosts", 0, "address"], "10.0.0.1; reboot"),
        changed(["topology", "hosts", 0, "rate_bits"], "fast"),
        changed(["topology", "hosts"], None),
    ],
)
def test_refuses_what_no_lab_wrote(text: str) -> None:
    with pytest.raises(UnreadableStateError, match="somewhere"):
        from_json(text, "somewhere")


@pytest.mark.parametrize("name", ["", "A", "a.b", "a/b", "-a", "a b", "a" * 13, "ä", "*", "a\n"])
def test_refuses_a_name_that_could_mean_more(name: str) -> None:
    with pytest.raises(WrongUseError):
        checked_lab_name(name)


def test_a_lab_is_found_by_its_folder_even_if_the_registry_was_emptied(tmp_path: Path) -> None:
    registry, directory = Registry(tmp_path / "registry"), tmp_path / "lab"
    directory.mkdir()
    state = state_in(directory)
    registry.write(state)
    assert registry.find_by_directory(directory) == registry.find("t") == state
    registry.forget("t")
    assert registry.names() == []
    assert registry.find_by_directory(directory) == state


def test_the_remains_of_an_earlier_lab_do_not_lead_to_the_present_one(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    registry.write(state_in(old))
    registry.write(state_in(new, identity="2"))
    with pytest.raises(LabError, match="earlier"):
        registry.find_by_directory(old)
    (old / "lab.json").rename(tmp_path / "lab.json")
    with pytest.raises(LabError, match="does not hold a lab"):
        registry.find_by_directory(tmp_path)


def test_a_folder_that_is_gone_stays_gone(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    registry.write(replace(state_in(tmp_path / "gone"), stopped=()))
    assert not (tmp_path / "gone").exists()
    assert registry.find("t").stopped == ()


def test_a_copy_that_was_being_written_goes_with_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, state = Registry(tmp_path / "registry"), state_in(tmp_path / "lab")
    state.directory.mkdir()
    replace_file = Path.replace

    def end_before_the_copy(beside: Path, path: Path) -> Path:
        if path.name == COPY_NAME:
            raise KeyboardInterrupt
        return replace_file(beside, path)

    monkeypatch.setattr(Path, "replace", end_before_the_copy)
    with pytest.raises(KeyboardInterrupt):
        registry.write(state)
    assert len(list(state.directory.iterdir())) == 1
    remove_files(state)
    assert not state.directory.exists()
