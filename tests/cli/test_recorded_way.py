"""Verbs reach hosts as their file says, unless told otherwise, and trust no stranger's file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.base.given_way import GivenWay
from plink.formats import order as order_file
from plink.formats.hosts import Host
from plink.formats.order import Order, Solver, TimeCost
from plink.measure.listed import apply_recorded_way
from plink.probes.options import SshOptions, ViaOptions


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "ssh_config"
    path.write_text("Host *\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "id"
    path.touch()
    return str(path)


def test_what_is_not_given_comes_from_the_file(config: Path, key: str) -> None:
    recorded = GivenWay(str(config), key, "me")
    assert apply_recorded_way(SshOptions(concurrency=3), recorded, "c.json") == SshOptions(
        str(config), key, "me", concurrency=3
    )


def test_a_key_that_is_not_there_is_refused_by_the_name_of_the_file_that_names_it() -> None:
    with pytest.raises(WrongUseError, match=r"c\.json.*/no/such/key"):
        apply_recorded_way(SshOptions(), GivenWay(identity="/no/such/key"), "c.json")


def test_what_is_given_wins(config: Path, key: str) -> None:
    recorded = GivenWay("/no/such/file", key, "me")
    given = SshOptions(str(config), user="you")
    assert apply_recorded_way(given, recorded, "c.json") == SshOptions(str(config), key, "you")


def test_a_command_in_place_of_ssh_is_never_taken_from_a_file() -> None:
    assert apply_recorded_way(SshOptions(), GivenWay(via="evil {host}"), "c.json") == SshOptions()


@pytest.mark.parametrize("recorded", [None, GivenWay("/no/such/file")])
def test_a_command_that_is_given_stays(recorded: GivenWay | None) -> None:
    way = ViaOptions("kubectl exec -i {host} --")
    assert apply_recorded_way(way, recorded, "c.json") is way


@pytest.mark.parametrize("path", ["ssh_config", "./ssh_config", "../x", "/no/such/file", "/a\0b"])
def test_a_configuration_of_another_place_is_refused(
    path: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    with pytest.raises(WrongUseError) as caught:
        apply_recorded_way(SshOptions(), GivenWay(path), "c.json")
    assert caught.value.hint == "give the SSH configuration with -F FILE"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_configuration_that_others_can_write_is_refused(mode: int, config: Path) -> None:
    config.chmod(mode)
    with pytest.raises(WrongUseError):
        apply_recorded_way(SshOptions(), GivenWay(str(config)), "c.json")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_configuration_of_another_user_is_refused(config: Path) -> None:
    os.chown(config, 12345, 12345)
    with pytest.raises(WrongUseError):
        apply_recorded_way(SshOptions(), GivenWay(str(config)), "c.json")


def test_an_order_file_says_how_its_hosts_were_reached(tmp_path: Path) -> None:
    way = GivenWay("/lab/ssh_config", user="me")
    order = Order(
        algorithm="ring",
        hosts=[Host("a", "10.0.0.1"), Host("b", "10.0.0.2")],
        listed=["a", "b"],
        cost=TimeCost("latency", 2.0, 2.0, 2.0, [1.0, 1.0], 2.0),
        random_orders=1,
        solver=Solver("none", {}, 0, 0, "exact"),
        seconds=0.0,
        way=way,
        unmeasured_hosts=[],
        filled_hops=[],
    )
    path = str(tmp_path / "order.json")
    order_file.write_order(path, order)
    assert order_file.read_order(path) == order
