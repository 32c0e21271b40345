"""Options that only some of the measuring tools take, and refusing them for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
from click.core import ParameterSource

from plink.measure.probing.limits import DEFAULT_TOOL, TOOL_NAMES, UPLINKS

_ECHOES = ("echo", "dpdk")
_ROUND_TRIPS = (*_ECHOES, "fping")
_OF_PAIRS = tuple(name for name in TOOL_NAMES if name != UPLINKS)
_TRANSFERS = ("iperf3", UPLINKS)

# By the option's parameter; every tool takes those that are not here.
TAKEN_BY: Mapping[str, Sequence[str]] = {
    "count": (*_ROUND_TRIPS, "trace"),
    "passes": _ROUND_TRIPS,
    "precision_percent": _ROUND_TRIPS,
    "percentile": _ROUND_TRIPS,
    "rounds": _OF_PAIRS,
    "seed": _OF_PAIRS,
    "port": tuple(name for name in TOOL_NAMES if name != "fping"),
    "remote_cache": _ECHOES,
    "nics": ("dpdk",),
    "max_hops": ("trace",),
    "remote_python": ("trace",),
    "duration_s": _TRANSFERS,
    "streams": _TRANSFERS,
    "direction": ("iperf3",),
    "congestion": _TRANSFERS,
    "groups": (UPLINKS,),
}


def given_options(context: click.Context) -> dict[str, str]:
    """What the command line gives: the name of each parameter, and how a user writes it."""
    return {
        parameter.name: _written(parameter)
        for parameter in context.command.params
        if parameter.name is not None
        and context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    }


def refuse_unused(given: Mapping[str, str], tool: str, chosen: str) -> None:
    """Refuse options that have no effect.

    Args:
        given: as `given_options` has them.
        tool: that is to measure.
        chosen: how that came, as the rest of a sentence.

    Raises:
        UsageError: the tool takes one of them not.
    """
    for name, written in given.items():
        takers = TAKEN_BY.get(name, TOOL_NAMES)
        if tool not in takers:
            raise click.UsageError(f"{written} is for --tool {_alternatives(takers)}, {chosen}.")


def _written(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return f"the argument {parameter.human_readable_name}"


def _alternatives(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def refuse_beside_all(given: Mapping[str, str]) -> None:
    """Refuse options that no stage of `--all` takes, or that would choose one of them.

    Args:
        given: as `given_options` has them.

    Raises:
        UsageError: there is one.
    """
    for name, written in given.items():
        takers = TAKEN_BY.get(name, TOOL_NAMES)
        if name in {"tool", "groups"} or not {DEFAULT_TOOL, UPLINKS} & set(takers):
            raise click.UsageError(f"{written} does not go with --all.")
