"""The command line of `scripts/lab`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from labkit import lifecycle, report
from labkit.entry import host_command
from labkit.errors import EXIT_INTERRUPTED, LabError
from labkit.rates import parse_rate
from labkit.registry import ROOT_REGISTRY, Registry, read_copy
from labkit.shape import two_levels
from labkit.state import State, checked_lab_name

DEFAULT_NAME = "lab"


def main() -> int:
    """Run the command line; return the exit code."""
    arguments = _parser().parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        return _COMMANDS[arguments.command](arguments)
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _interrupted(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _up(arguments: argparse.Namespace) -> int:
    shape = two_levels(
        arguments.racks,
        [int(count) for count in arguments.hosts.split(",")],
        parse_rate(arguments.host_rate),
        parse_rate(arguments.uplink_rate),
        arguments.hops,
    )
    name = checked_lab_name(arguments.name or DEFAULT_NAME)
    directory = Path(arguments.dir or f".lab/{name}").resolve()
    state = lifecycle.up(
        _registry(),
        name,
        directory,
        shape,
        seed=arguments.seed,
        congestion_control=arguments.congestion_control,
    )
    print(report.summary(state))
    return 0


def _down(arguments: argparse.Namespace) -> int:
    lifecycle.down(_registry(), _found(arguments))
    return 0


def _exec(arguments: argparse.Namespace) -> int:
    state = _found(arguments)
    host = state.topology.host(arguments.host).name
    argv = host_command(state, host, arguments.argv)
    os.execv(argv[0], argv)


def _status(arguments: argparse.Namespace) -> int:
    if arguments.name is None and arguments.dir is None:
        states = _registry().all()
    else:
        states = [_found(arguments)]
    if arguments.json:
        print(json.dumps([report.as_json(state) for state in states], indent=1))
    else:
        print("\n\n".join(map(report.table, states)) or "no lab is up")
    return 0


_COMMANDS = {"up": _up, "down": _down, "exec": _exec, "status": _status}


def _registry() -> Registry:
    return Registry(ROOT_REGISTRY)


def _found(arguments: argparse.Namespace) -> State:
    """The lab meant by `--name` or `--dir`."""
    if arguments.dir is not None:
        return read_copy(Path(arguments.dir).resolve())
    name = checked_lab_name(arguments.name or DEFAULT_NAME)
    state = _registry().read(name)
    if state is None:
        raise LabError(f"no lab is called {name}", "lab status lists those that stand")
    return state


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lab", description="A data centre in network namespaces.")
    commands = parser.add_subparsers(dest="command", required=True)
    which = argparse.ArgumentParser(add_help=False)
    which.add_argument("--name", help=f"the lab's name (default: {DEFAULT_NAME})")
    which.add_argument("--dir", help="the lab's folder (up's default: .lab/NAME)")

    up = commands.add_parser("up", parents=[which], help="put a lab up")
    up.add_argument("--racks", type=int, help="how many racks")
    up.add_argument("--hosts", default="4", help="hosts a rack, or one number for each: 3,5,8")
    up.add_argument("--host-rate", default="400mbit", help="of every host's link, or none")
    up.add_argument("--uplink-rate", default="400mbit", help="of every rack's uplink, or none")
    up.add_argument("--hops", type=int, default=4, help="extra switches on a rack's way up")
    up.add_argument("--seed", type=int, default=1, help="shuffles names, addresses and order")
    up.add_argument("--congestion-control", help="of TCP on the hosts: reno, cubic or bbr")

    commands.add_parser("down", parents=[which], help="take it down, also after a crash")

    execute = commands.add_parser("exec", parents=[which], help="run a command on a host")
    execute.add_argument("host")
    execute.add_argument("argv", nargs="+", metavar="command", help="after --")

    status = commands.add_parser("status", parents=[which], help="what stands")
    status.add_argument("--json", action="store_true")
    return parser
