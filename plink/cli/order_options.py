"""Options of `plink order` that exclude or require each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.cli.options import given_options
from plink.cli.stderr import note

if TYPE_CHECKING:
    from plink.files.mesh import Mesh
    from plink.optimize.orders.request import OrderRequest


def check_executor(executor: str | None) -> None:
    """Raise for options that do not apply to a search on an executor."""
    given = given_options(click.get_current_context())
    if executor is None:
        alone = [given[name] for name in ("restarts", "steps") if name in given]
        if alone:
            raise WrongUseError(f"{alone[0]} needs --executor", "--executor local")
        return
    from plink.optimize.executors.executor import check_address  # noqa: PLC0415

    check_address(executor)
    if "time_limit_s" in given:
        both = "--time-limit and --executor exclude each other: its searches are counted in steps"
        raise WrongUseError(both, "limit the search with --restarts and --steps")


def parse_mesh_options(text: str | None, traffic: str | None, size_bytes: int) -> Mesh | None:
    """Return the mesh in --mesh and --traffic; None without them."""
    from plink.files.mesh import parse_mesh  # noqa: PLC0415

    given = given_options(click.get_current_context())
    if text is None:
        if traffic is not None:
            raise WrongUseError(
                "--traffic needs --mesh", "give the mesh's dimensions: --mesh dp=4,tp=2"
            )
        return None
    if "algorithm" in given:
        hint = "name the algorithm of a dimension in --traffic tp=ring:2GB"
        raise WrongUseError("--algo and --mesh exclude each other", hint)
    if traffic is not None and "size_bytes" in given:
        raise WrongUseError("--size and --traffic exclude each other", "leave one of them out")
    return parse_mesh(text, traffic, size_bytes)


def apply_trace(request: OrderRequest, name: str | None) -> OrderRequest:
    """Return the request with a trace's traffic, or unchanged without a trace."""
    if name is None:
        return request
    given = given_options(click.get_current_context())
    for other in ("algorithm", "mesh_text", "size_bytes", "executor"):
        if other in given:
            raise WrongUseError(f"{given[other]} and --trace exclude each other")
    from plink.simulate.trace_algorithm import trace_algorithm  # noqa: PLC0415  others do without
    from plink.simulate.traces import files  # noqa: PLC0415

    trace = files.read(name)
    for text in trace.notes:
        note(text)
    size_bytes = int(trace.bytes_sent)
    if request.ranks not in (None, trace.ranks):
        raise WrongUseError(
            f"the trace has {trace.ranks} ranks, not {request.ranks}", "leave out --ranks"
        )
    return replace(
        request, own=trace_algorithm(trace), ranks=trace.ranks, size_bytes=max(1, size_bytes)
    )
