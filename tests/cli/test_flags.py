"""Arguments that an error names become options where the command has them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from plink.base.errors import NotMeasuredError, WrongUseError
from plink.cli.hints import command_speller, complete_resume_hint
from plink.formats.cluster import Cluster, build_not_measured_error
from plink.formats.hosts import Host
from support.plink_command import plink_here

HOSTS = Cluster([Host("a", "10.0.0.1"), Host("b", "10.0.0.2")])


@click.command()
@click.option("-n", "--network")
@click.option("--prove", "prove_s")
@click.option("--interleave", is_flag=True)
@click.option("--accept-new-host-keys", is_flag=True)
def command() -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("as in {network=10.0.0.0/16}.", {"network": None}, "as in --network 10.0.0.0/16."),
        ("without {interleave=}", {"interleave": True}, "without --interleave"),
        ("{prove=} and {prove_s}", {"prove": 5, "prove_s": 5.0}, "--prove 5 and --prove"),
        ("{host=} is no option", {"host": "b"}, "host=b is no option"),
        ("{network} in other braces", {}, "{network} in other braces"),
        ("file=a and network=b", {"network": "c"}, "file=a and network=b"),
    ],
)
def test_arguments_are_spelled_as_options(
    text: str, arguments: dict[str, object], expected: str
) -> None:
    error = WrongUseError("wrong", text, arguments=arguments)
    assert error.spell(command_speller(command)) == ("wrong", expected)


def test_the_library_spells_arguments_as_python_does() -> None:
    error = WrongUseError("{ranks=} is too many", "leave out {ranks}", arguments={"ranks": 8})
    assert (str(error), error.hint) == ("ranks=8 is too many", "leave out ranks")


def test_verbs_have_options_too() -> None:
    assert command_speller(click.Group("g", {"verb": command}))("network", "x") == "--network x"


def test_an_error_names_the_option_of_its_command() -> None:
    done = plink_here("probe", "/nowhere", "-o", "network=x.json", "--tool", "echo")
    assert done.code == 2
    assert "/nowhere" in done.stderr


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (
            build_not_measured_error(HOSTS, "rtt", "my file.json"),
            "plink probe --resume 'my file.json' measures them, ",
        ),
        (
            build_not_measured_error(HOSTS, "bandwidth", "c.json"),
            "plink probe --resume c.json --tool iperf3 measures",
        ),
        (
            build_not_measured_error(HOSTS, "bandwidth", "standard input"),
            "plink probe --resume FILE --tool iperf3 ",
        ),
    ],
)
def test_what_is_missing_is_measured_into_the_same_file(error: NotMeasuredError, hint: str) -> None:
    assert (complete_resume_hint(error) or "").startswith(hint)


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["import", "rtt.csv", "--unit", "x"], "--unit"),
        (["import", "rtt.csv", "--size", "4"], "--size"),
        (["probe", "hosts", "-o", "c.json", "--via", "false {host}", "--strict"], "--strict"),
    ],
)
def test_errors_of_files_and_hosts_name_the_option(
    words: list[str], flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rtt.csv").write_text("source,destination,rtt_ms\na,b,0.1\nb,a,0.1\n")
    (tmp_path / "hosts").write_text("a\nb\n")
    monkeypatch.chdir(tmp_path)
    done = plink_here(*words)
    assert done.code != 0
    assert flag in done.stderr


def test_options_that_exclude_each_other_lead_to_the_help() -> None:
    done = plink_here("check", "c.json", "--via", "run {host}", "--user", "u")
    assert done.code == 2
    assert "--user" in done.stderr
    assert done.stderr.endswith("hint: plink check --help\n")
