"""Commands that plink prints: each is one that plink takes, and it reaches the same hosts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest

from plink.base.given_way import GivenWay
from plink.base.next_command import REACHING, next_command
from plink.base.replacing import replace
from plink.base.request import command_words
from plink.cli import COMMANDS, cli
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats import order as order_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.measure.importing.source import import_matrix
from plink.measure.requests import MeasurementRequest
from plink.show.advice import next_steps
from plink.show.page.subject import read_inputs
from support.plink_command import parse_command, plink_here, read_json

WAY = GivenWay("my config", "/keys/it's", "me")
HOSTS = [Host(name, f"10.0.0.{number}") for number, name in enumerate("abcdef", 1)]
_COMMAND = re.compile(r"plink (?:probe|check|bench|verify) .*?(?= measures|\n|$)")


def verbs() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command
        for verb, nested in getattr(command, "commands", {}).items():
            yield f"{name} {verb}", nested


def parsed(line: str) -> click.Context:
    """What plink makes of a line that it printed."""
    plink, verb, *words = shlex.split(line)
    assert plink == "plink"
    return parse_command(verb, words)


def ssh_of(line: str) -> tuple[object, ...]:
    return tuple(parsed(line).params[name] for name in ("ssh_config", "identity", "user"))


def matrix(size: int) -> bytes:
    names = [host.name for host in HOSTS[:size]]
    rows = [f"{name}," + ",".join("" if name == to else "20" for to in names) for name in names]
    return "\n".join(["us," + ",".join(names), *rows, ""]).encode()


def cluster_with(way: GivenWay | None, size: int = 6) -> Cluster:
    found = import_matrix(matrix(size), "m.csv", unit=None, percentile=10.0)
    return replace(found, way=way)


def test_the_verbs_that_reach_hosts_are_those_with_options_of_ssh() -> None:
    found = {
        name
        for name, command in verbs()
        if {"ssh_config", "identity", "user"} <= {option.name for option in command.params}
    }
    assert found == set(REACHING)


def test_a_verb_that_reaches_no_host_gets_no_options_of_ssh() -> None:
    assert next_command("order", "c d.json", way=WAY) == "plink order 'c d.json'"
    said = next_command("check", "c d.json", way=WAY)
    assert said == "plink check 'c d.json' -F 'my config' -i '/keys/it'\"'\"'s' --user me"
    assert ssh_of(said) == ("my config", "/keys/it's", "me")


def test_a_cluster_file_keeps_how_its_hosts_were_reached(tmp_path: Path) -> None:
    for name in ("c.json", "c.npz"):
        path = str(tmp_path / name)
        cluster_file.write_cluster(path, cluster_with(WAY))
        assert cluster_file.read_cluster(path).way == WAY
    cluster_file.write_cluster(path := str(tmp_path / "without.json"), cluster_with(None))
    assert "way" not in read_json(Path(path))


@pytest.mark.parametrize("value", [7, "", "a\x1b[2Jb", "a\nb", "x" * 5000])
def test_a_file_cannot_put_what_does_not_print_into_a_command(value: object) -> None:
    data = cluster_file.encode_cluster(cluster_with(None)) | {"way": {"config": value}}
    with pytest.raises(Exception, match="way"):
        cluster_file.decode_cluster(data, "c.json")


def test_every_next_step_reaches_the_hosts_as_the_probe_did(tmp_path: Path) -> None:
    path, ordered = str(tmp_path / "c d.json"), str(tmp_path / "o.json")
    cluster_file.write_cluster(path, cluster_with(WAY))
    assert plink_here("order", path, "-o", ordered, "--time-limit", "0.2").code == 0
    cluster = cluster_file.read_cluster(path)
    steps = next_steps(cluster, path)
    steps += next_steps(cluster, path, [(ordered, order_file.read_order(ordered))])
    steps += next_steps(Cluster(HOSTS, way=WAY), path)
    assert len({step.command for step in steps}) >= 5
    for step in steps:
        context = parsed(step.command)
        if context.info_name in REACHING:
            assert ssh_of(step.command) == ("my config", "/keys/it's", "me")


def test_what_is_missing_is_measured_on_the_hosts_that_were_given(tmp_path: Path) -> None:
    bare = str(tmp_path / "bare.json")
    cluster_file.write_cluster(bare, Cluster(HOSTS, way=WAY))
    for argv in (("order", bare), ("group", bare), ("export", bare)):
        done = plink_here(*argv)
        (said,) = _COMMAND.findall(done.stderr)
        assert ssh_of(said) == ("my config", "/keys/it's", "me"), argv
    given = ("-F", "/dev/null", "--user", "other one", "--network", "10.0.0.0/8")
    done = plink_here("check", bare, *given)
    (said,) = _COMMAND.findall(done.stderr)
    assert ssh_of(said) == ("/dev/null", None, "other one")
    assert str(parsed(said).params["network"]) == "10.0.0.0/8"


@pytest.mark.parametrize("verb", [["order"], ["show"], ["predict", "--size", "8"], ["bench"]])
def test_a_host_list_in_place_of_a_cluster_file_is_to_be_probed(
    verb: list[str], tmp_path: Path
) -> None:
    hosts = tmp_path / "my hosts.txt"
    hosts.write_text("n01\nn02 slots=4\n")
    done = plink_here(*verb, hosts)
    assert done.code == 2
    said = re.findall("hint: it looks like a host list: (.*) measures its hosts", done.stderr)
    assert [parsed(line).params["hosts"] for line in said] == [str(hosts)]
    hosts.write_text("us,a,b\na,,2\nb,1,\n")
    assert "hint: plink import reads CSV" in plink_here(*verb, hosts).stderr


def test_an_order_of_a_mesh_is_made_again_as_it_was_asked_for(tmp_path: Path) -> None:
    path, ordered = str(tmp_path / "c.json"), str(tmp_path / "o.json")
    cluster_file.write_cluster(path, cluster_with(None))
    mesh = ("--mesh", "dp=3,tp=2", "--traffic", "tp=2MB,dp=ring:1MB", "--time-limit", "0.2")
    assert plink_here("order", path, *mesh, "-o", ordered).code == 0
    data = read_json(Path(path))
    data["rtt"]["rtt_us"]["10"][0][1] += 1.0
    document.write_bytes(path, document.dump(data))
    with pytest.raises(Exception, match="was made from another version of") as caught:
        read_inputs((path, ordered))
    line = getattr(caught.value, "hint", "").removesuffix(" makes it again")
    params = parsed(line).params
    assert (params["mesh"], params["output"]) == ("dp=3,tp=2", ordered)
    assert plink_here(*shlex.split(line)[1:], "--time-limit", "0.2").code == 0
    again = order_file.read_order(ordered)
    assert again.mesh is not None
    assert [(one.name, one.size, one.size_bytes) for one in again.mesh.dimensions] == [
        ("dp", 3, 1_000_000),
        ("tp", 2, 2_000_000),
    ]


def test_unmeasured_hosts_are_measured_into_the_file_that_was_written(tmp_path: Path) -> None:
    path, out = str(tmp_path / "c.json"), str(tmp_path / "out put.json")
    cluster = cluster_with(WAY)
    assert cluster.rtt is not None
    for matrix_us in cluster.rtt.rtt_us.values():
        matrix_us[5, :] = matrix_us[:, 5] = np.nan
    cluster_file.write_cluster(path, cluster)
    done = plink_here("group", path, "-o", out)
    (said,) = _COMMAND.findall(done.stderr)
    assert parsed(said).params["resume"] == out
    assert ssh_of(said) == ("my config", "/keys/it's", "me")


def test_a_bench_that_cannot_find_the_hosts_says_how_they_were_reached(tmp_path: Path) -> None:
    path = str(tmp_path / "c.json")
    hosts = [
        Host(f"nowhere-{name}.invalid", f"10.0.0.{number}") for number, name in enumerate("ab")
    ]
    cluster_file.write_cluster(path, replace(cluster_with(WAY, 2), hosts=hosts))
    key = tmp_path / "key"
    key.touch()
    done = plink_here("bench", path, "-F", "/dev/null", "-i", key, "--orders", "given")
    assert "hint: plink probe reached these hosts with -F 'my config' -i" in done.stderr


@pytest.mark.parametrize("rounds", ["auto", "all", "7"])
def test_rounds_are_written_as_they_were_typed(rounds: str) -> None:
    context = parse_command("probe", ["hosts", "-o", "c.json", "--rounds", rounds])
    assert context.params["rounds"] == rounds
    assert command_words(MeasurementRequest(rounds=rounds)) == ["--rounds", rounds]
