"""The options that several benchmarks have."""

from __future__ import annotations

import argparse
from pathlib import Path

_OF_LABS = ("racks", "hosts", "hops", "host_rate", "uplink_rate", "congestion_control", "seed")


def add_lab(
    parser: argparse.ArgumentParser,
    *,
    racks: int = 4,
    hosts: str = "4",
    hops: int = 4,
    rates: tuple[str, str] | None = ("400mbit", "400mbit"),
) -> None:
    """The options that say what a lab is like; `lab_options` reads them.

    Args:
        racks, hosts, hops: the defaults.
        rates: the defaults of hosts and uplinks; None: the benchmark sets them, or `lab up` does.
    """
    parser.add_argument("--racks", type=int, default=racks, help="of the lab")
    parser.add_argument("--hosts", default=hosts, help="in every rack, or in each: 4,4,2,1")
    parser.add_argument("--hops", type=int, default=hops, help="extra switches on a rack's way up")
    if rates is not None:
        parser.add_argument("--host-rate", default=rates[0], help="of every host's link, or none")
        parser.add_argument("--uplink-rate", default=rates[1], help="of every rack's, or none")
    add_congestion_control(parser)


def add_congestion_control(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """What the hosts' TCP uses."""
    text = "of the hosts' TCP" if default else "of the hosts' TCP (default: the machine's)"
    parser.add_argument("--congestion-control", metavar="NAME", default=default, help=text)


def lab_options(arguments: argparse.Namespace, **others: object) -> list[str]:
    """What `bench_lab` takes for the options of `add_lab` and `add_seed`.

    Args:
        arguments: of the command line.
        others: options with these values instead.
    """
    values = {**vars(arguments), **others}
    # The list of hosts says how many racks there are.
    if "," in str(values.get("hosts", "")):
        values["racks"] = None
    return [
        word
        for name in _OF_LABS
        if values.get(name) is not None
        for word in (f"--{name.replace('_', '-')}", str(values[name]))
    ]


def add_seed(parser: argparse.ArgumentParser) -> None:
    """One seed."""
    parser.add_argument("--seed", type=int, default=1, help="of the lab, and of what is drawn")


def add_seeds(parser: argparse.ArgumentParser, default: str = "1,2,3") -> None:
    """A list of seeds."""
    parser.add_argument("--seeds", type=numbers, default=numbers(default), help="1,2,3")


def add_seed_count(parser: argparse.ArgumentParser, default: int, what: str) -> None:
    """How many seeds, from the first on."""
    parser.add_argument("--seeds", type=int, default=default, help=f"how many {what}")


def add_keep(parser: argparse.ArgumentParser, what: str) -> None:
    """A folder for what is found on the way."""
    parser.add_argument("--keep", metavar="DIR", type=Path, help=f"a folder for {what}")


def numbers(text: str) -> list[int]:
    """Whole numbers, separated by commas."""
    return [int(word) for word in text.split(",")]


def words(text: str) -> list[str]:
    """Words, separated by commas."""
    return text.split(",")
