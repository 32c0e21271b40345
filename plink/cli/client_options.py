"""Options of commands that run a real client on hosts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from plink.cli.options import FiniteRange

Function = TypeVar("Function", bound=Callable[..., Any])


def with_timeout_option(function: Function) -> Function:
    """Add `--timeout`, which the command receives as `timeout_s`."""
    return click.option(
        "--timeout",
        "timeout_s",
        type=FiniteRange(0.1, 86_400),
        default=60.0,
        show_default=True,
        help="Time limit of one repetition, in seconds.",
    )(function)


def with_mpi_options(function: Function) -> Function:
    """Add the options on MPI's tools: `--mpicc`, `--mpirun`, `--remote-cache`."""
    for option in (
        click.option(
            "--remote-cache", metavar="DIR", help="MPI: folder on the hosts to copy the program to."
        ),
        click.option("--mpirun", metavar="PATH", help="MPI: the launcher on this machine."),
        click.option("--mpicc", metavar="PATH", help="MPI: the compiler wrapper on this machine."),
    ):
        function = option(function)
    return function
