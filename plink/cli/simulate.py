"""`plink simulate`: simulate algorithms, plans and traces on a network."""

from __future__ import annotations

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import printable
from plink.cli.json_output import check_output, json_option, print_json_line
from plink.cli.request_options import with_request
from plink.cli.stderr import console, note
from plink.simulate.request import DataCentreRequest, SimulationRequest

with lazy_imports():
    from plink.formats import document
    from plink.show.terminal import paper, simulation
    from plink.simulate import inputs
    from plink.simulate import schedule as schedules
    from plink.simulate.traces import files


@click.command(
    epilog="Example: plink simulate --racks 16 --hosts 16 --oversubscription 4 --algo "
    "openmpi-rabenseifner --algo smpi:lr --size 20MB. "
    "Example: plink simulate order.json --cluster cluster.json --trace goal -o job.goal"
)
@click.argument("file", metavar="[CLUSTER|ORDER|PLAN|TRACE]", required=False)
@click.option(
    "--cluster",
    "cluster_name",
    metavar="FILE",
    help="Cluster file that the order or plan was made from, or that the trace runs on.",
)
@with_request(DataCentreRequest, passed_as="data_centre")
@with_request(SimulationRequest)
@click.option(
    "--trace",
    "trace_format",
    type=click.Choice(["goal", "chakra"]),
    help="Simulate nothing; write the messages of one algorithm, or of a plan, as GOAL's text, "
    "or as Chakra's execution traces NAME.0.et, NAME.1.et, ...",
)
@click.option("-o", "--output", metavar="FILE", help="Trace file to write; - for standard output.")
@json_option("Print everything as JSON.")
def command(
    *,
    request: SimulationRequest,
    data_centre: DataCentreRequest,
    file: str | None,
    cluster_name: str | None,
    trace_format: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Simulate algorithms, a plan or a trace on a network, in several orders of the ranks.

    The network is that of a cluster file, or a data centre that is described: --racks, --fat-tree
    or --dragonfly. It is simulated by SimGrid, which has to be installed. `-` is standard input.
    """
    shape = data_centre.shape
    if shape is not None and cluster_name is not None:
        raise WrongUseError(
            f"{{{shape}}} and {{cluster}} exclude each other",
            arguments={shape: None, "cluster": None},
        )
    if file is None and shape is None:
        raise WrongUseError(
            "there is no network to simulate",
            "name a cluster file, or describe a data centre: --racks 16 --hosts 16",
        )
    if (trace_format is None) != (output is None):
        raise WrongUseError(
            "--trace FORMAT and -o FILE are only given together", "--trace goal -o job.goal"
        )
    check_output(output, "the trace", *([] if file is None else [file]), as_json=as_json)
    subject = inputs.read_input(file, cluster_name, data_centre)
    request = inputs.complete_request(subject, request)
    if trace_format is not None and output is not None:
        if request.tuner is not None:
            raise WrongUseError("--tuner and --trace exclude each other")
        _write_trace(trace_format, output, inputs.schedule_on_hosts(subject, request))
        return
    stderr = console()
    with stderr.status("") as status:
        tell = status.update if stderr.is_terminal else lambda _text: None
        found = inputs.simulate_input(subject, request, tell)
    for text in found.notes:
        note(text)
    if as_json:
        print_json_line(found)
    else:
        simulation.print_simulation(paper.paper(None).console, found)


def _write_trace(trace_format: str, output: str, schedule: schedules.Schedule) -> None:
    names = files.write(trace_format, output, schedule)
    if output != document.STANDARD_STREAM:
        last = f" to {names[-1]}" if len(names) > 1 else ""
        click.echo(
            printable(f"{names[0]}{last}: {schedule.operations} operations of {schedule.ranks}"),
            err=True,
        )
