"""Arguments in the library's messages become options where the command has them."""

from __future__ import annotations

import click
import pytest

from plink.base.errors import NotMeasuredError
from plink.cli.flags import resuming, spell_as_options
from plink.files.cluster import Cluster, no_bandwidth_measured, nothing_measured
from plink.files.hosts import Host
from support.plink_command import plink_here

HOSTS = Cluster([Host("a", "10.0.0.1"), Host("b", "10.0.0.2")])


@click.command()
@click.option("-n", "--network")
@click.option("--prove", "prove_s")
@click.option("--interleave", "is_interleaved", is_flag=True)
@click.option("--accept-new-host-keys", is_flag=True)
def command() -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as in network=10.0.0.0/16.", "as in --network 10.0.0.0/16."),
        ("network=fd00::/8, or not", "--network fd00::/8, or not"),
        ("or use accept_new_host_keys=True", "or use --accept-new-host-keys"),
        ("without interleave=True", "without --interleave"),
        ("prove=5 and prove_s=5", "--prove 5 and --prove 5"),
        ("file=a and host=b", "file=a and host=b"),
        ("--rdzv-backend=static", "--rdzv-backend=static"),
        ("network = x, network=", "network = x, network="),
    ],
)
def test_arguments_are_spelled_as_options(text: str, expected: str) -> None:
    assert spell_as_options(text, command) == expected


def test_without_a_command_texts_stay() -> None:
    assert spell_as_options("network=10.0.0.0/16", None) == "network=10.0.0.0/16"


def test_verbs_have_options_too() -> None:
    assert spell_as_options("network=x", click.Group("g", {"verb": command})) == "--network x"


def test_an_error_names_the_option_of_its_command() -> None:
    done = plink_here("probe", "/nowhere", "-o", "network=x.json", "--tool", "echo")
    assert done.code == 2
    assert "/nowhere" in done.stderr


def test_calls_are_spelled_as_commands() -> None:
    assert spell_as_options("plink.algorithms() names them all", command) == (
        "plink order --list-algorithms names them all"
    )


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (
            nothing_measured(HOSTS, "my file.json"),
            "plink probe --resume 'my file.json' measures them, ",
        ),
        (
            no_bandwidth_measured(HOSTS, "c.json"),
            "plink probe --resume c.json --tool iperf3 measures",
        ),
        (
            no_bandwidth_measured(HOSTS, "standard input"),
            "plink probe --resume FILE --tool iperf3 ",
        ),
    ],
)
def test_what_is_missing_is_measured_into_the_same_file(error: NotMeasuredError, hint: str) -> None:
    assert (resuming(error) or "").startswith(hint)
