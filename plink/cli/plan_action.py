"""`plink plan` behind the command line: read, plan, write, and say what was chosen and why."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rich.console import Console

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.cli.options import size_option
from plink.cli.stderr import note, warn
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files import plan as plan_file
from plink.optimize.plans.planning import PlanRequest, find_plan
from plink.show.terminal.paper import paper
from plink.show.terminal.plan import planned_to_json, print_plan


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    file: str
    kind: str
    size: str
    output: str | None
    ranks_per_host: int | None
    seed: int
    as_json: bool


def run(request: Request) -> int:
    """Do it; return the exit code.

    Raises:
        WrongUseError: wrong options, or a file that is no cluster.
    """
    wanted = PlanRequest(
        request.kind, size_option(request.size), request.ranks_per_host, request.seed
    )
    has_data_on_stdout = request.output == document.STANDARD_STREAM
    if has_data_on_stdout and request.as_json:
        raise WrongUseError(
            "--json and the plan both want standard output", "give the file a name with -o"
        )
    if request.output is not None:
        document.check_writable(request.output)
        document.refuse_same_file(request.file, request.output)
    cluster = cluster_file.read(request.file)
    talk = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with talk.status("") as status:
        found = find_plan(cluster, wanted, status.update if talk.is_terminal else None)
    if request.output is not None:
        plan_file.write(request.output, found.plan)
    if request.as_json:
        text = json.dumps(planned_to_json(found), ensure_ascii=False)
        document.write_bytes(document.STANDARD_STREAM, f"{text}\n".encode())
    else:
        source = document.label(request.file)
        print_plan(talk if has_data_on_stdout else paper(None).console, source, found)
    for assumption in found.plan.assumptions:
        note(assumption)
    for failure in cluster.unreachable:
        warn(f"{failure.source} was unreachable and gets no rank")
    return EXIT_PARTIAL if cluster.unreachable else 0
