"""`plink renumber`: run a command with ranks that follow an order of the hosts."""

from __future__ import annotations

import os
import shlex
import signal

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.cli.json_output import json_option, print_json_line
from plink.cli.request_options import with_request
from plink.renumber.source import RenumberRequest

with lazy_imports():
    from msgspec import structs as msgspec_structs

    from plink.renumber import launch, standalone


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: plink renumber --order order.json -- python train.py, started by srun, mpirun "
    "or another launcher in every process.",
)
@with_request(RenumberRequest)
@click.option(
    "--meet",
    "meeting",
    metavar="HOST:PORT",
    help="Address at which the processes meet: the host of rank 0 and a free port.  [default: "
    "PLINK_MEETING, or the port after MASTER_PORT at MASTER_ADDR]",
)
@json_option("Print this process's rank and host as JSON.")
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def command(
    *, request: RenumberRequest, meeting: str | None, as_json: bool, words: tuple[str, ...]
) -> int:
    """Run a command with the rank that this process has in an order of the hosts.

    A launcher starts it in every process in place of the command. The processes meet, agree on new
    ranks, change the variables of their launcher (RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK,
    JAX_PROCESS_ID, MASTER_ADDR and others), and become the command: signals and exit codes are its
    own. Ranks of an MPI library stay; PLINK_RANK is the key for MPI_Comm_split. Without a command
    the variables are printed for a shell: eval "$(plink renumber --order order.json)".
    """
    if as_json and words:
        raise WrongUseError(f"--json and a command exclude each other: {words[0]}")
    placement, changes = standalone.renumber_process(request, meeting, os.environ)
    if as_json:
        print_json_line(
            launch.RenumberedProcess(**msgspec_structs.asdict(placement), variables=changes)
        )
        return 0
    if not words:
        for name, value in changes.items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores them, and what is ignored stays so in the command.
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvpe(words[0], list(words), {**os.environ, **changes})
    except OSError as error:
        raise WrongUseError(f"the command {words[0]} cannot be started: {error.strerror}") from None
