"""Running a launcher on the file that plink writes for it, as the format's usage line says."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.base.errors import PlinkError, WrongUseError
from plink.deploy.launchers import FORMATS, render
from plink.deploy.launchers.format import filled
from plink.deploy.remote.launcher import Ended, run_launcher
from plink.deploy.verify.program import Report, parse_reports, program
from plink.files.cluster import Host

# The environment variable in which each launcher tells a rank its number.
RANK_VARIABLES = {
    **dict.fromkeys(["openmpi", "openmpi-rankfile", "openmpi5-rankfile"], "OMPI_COMM_WORLD_RANK"),
    **dict.fromkeys(["mpich", "intelmpi"], "PMI_RANK"),
    "slurm": "SLURM_PROCID",
    **dict.fromkeys(["torchrun", "torchrun-script", "deepspeed"], "RANK"),
    **dict.fromkeys(["env", "nccl"], "RANK"),
    "horovod": "HOROVOD_RANK",
    "jax": "JAX_PROCESS_ID",
    "mlx": "MLX_RANK",
}
# How a launcher of Python scripts is told that the program is none.
_NOT_PYTHON = {
    **dict.fromkeys(["torchrun", "torchrun-script"], ("--no-python",)),
    # Without the second it puts --local_rank in front of the program's own words.
    "deepspeed": ("--no_python", "--no_local_rank"),
}
# pdsh, by which DeepSpeed starts ranks, hands words to one more shell than the others do.
_THROUGH_A_SHELL = ("deepspeed",)
# Debian's names come first: its `mpirun` may be the other MPI's.
_PROGRAMS = {"mpirun": ["mpirun.openmpi", "mpirun"], "mpiexec": ["mpiexec.hydra", "mpiexec"]}
_TAIL_CHARACTERS = 300
_QUOTED = "$PLINK_PROGRAM"


@dataclass(frozen=True)
class Trial:
    """What is run.

    Args:
        launcher: the name of its format.
        command: a shell command with FILE, RANKS and PROGRAM or SCRIPT in it.
        python: runs torchrun on the hosts in place of the `torchrun` that their PATH has.
        timeout_s: how long it may take.
    """

    launcher: str
    command: str
    python: str | None
    timeout_s: float


def default_command(launcher: str, path: str | None) -> str:
    """The usage line of a format, with the launcher `path` in place of its first word.

    Raises:
        WrongUseError: what the format is for cannot be run so.
    """
    if launcher not in RANK_VARIABLES:
        raise WrongUseError(
            f"plink verify cannot run {launcher!r}", f"it runs {', '.join(RANK_VARIABLES)}"
        )
    usage = FORMATS[launcher].usage
    first, _, rest = usage.partition(" ")
    if path is not None:
        if first in ("while", "sh") or "=" in first:
            raise WrongUseError(f"{launcher} is no program that --program could name")
        return f"{shlex.quote(path)} {rest}"
    if launcher == "intelmpi":
        return usage
    known = [name for name in _PROGRAMS.get(first, []) if _is_on_path(name)]
    return f"{known[0]} {rest}" if known and launcher != "openmpi5-rankfile" else usage


def run_trial(trial: Trial, hosts: Sequence[Host], folder: Path) -> list[Report]:
    """Run the launcher; what its ranks said.

    Args:
        trial: what to run.
        hosts: in rank order.
        folder: for the launcher's file; programs in it come before those of PATH.

    Raises:
        WrongUseError: the launcher's file cannot hold the hosts.
        PlinkError: the launcher failed, or took too long.
    """
    file = folder / "order"
    text = render(trial.launcher, hosts, ())
    if trial.python is not None:
        module = f"{shlex.quote(trial.python)} -m torch.distributed.run"
        text = text.replace(" torchrun --", f" {module} --")
    file.write_text(text)
    words = program_words(trial.launcher)
    command = filled_in(trial.command, str(file), sum(host.slots for host in hosts), words)
    environment = {
        "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
        _QUOTED.removeprefix("$"): shlex.join(words),
        **_for_root(),
    }
    ended = run_launcher(["sh", "-c", command], trial.timeout_s, environment)
    if ended is None:
        raise PlinkError(f"the launcher did not end within {trial.timeout_s:g} s")
    reports = parse_reports(ended.stdout)
    if ended.status != 0 or not reports:
        raise _failure(ended)
    return reports


def program_words(launcher: str) -> list[str]:
    """What stands for the program in a usage line, behind the options that say it is no script."""
    words = program(RANK_VARIABLES[launcher])
    if launcher in _THROUGH_A_SHELL:
        words = [word.replace("$", r"\$") for word in words]
    return [*_NOT_PYTHON.get(launcher, ()), *words]


def filled_in(command: str, file: str, ranks: int, words: Sequence[str]) -> str:
    """A usage line with its blanks filled in; the program is the words `words`."""
    command = command.replace("python SCRIPT", "SCRIPT").replace("SCRIPT", "PROGRAM")
    before, blank, _ = command.partition("PROGRAM")
    if not blank:
        raise WrongUseError("the command has no PROGRAM in it", "see plink verify --help")
    # Between double quotes another shell takes the words apart, which the variable leaves to it.
    is_quoted = before.count('"') % 2 == 1
    words_there = _QUOTED if is_quoted else shlex.join(words)
    return filled(command, {"PROGRAM": words_there, "RANKS": str(ranks), "FILE": shlex.quote(file)})


def _for_root() -> Mapping[str, str]:
    """Open MPI asks root twice."""
    if os.geteuid() != 0:
        return {}
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def _is_on_path(name: str) -> bool:
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return any(os.access(Path(folder, name), os.X_OK) for folder in folders if folder)


def _failure(ended: Ended) -> PlinkError:
    said = " ".join((ended.stderr.strip() or ended.stdout.strip()).split())
    tail = said if len(said) <= _TAIL_CHARACTERS else "..." + said[-_TAIL_CHARACTERS:]
    hint = None
    if re.search(r"torchrun: (command )?not found", said):
        hint = "name the interpreter that has PyTorch on the hosts with --python"
    return PlinkError(
        f"the launcher failed (exit status {ended.status}): {tail or 'no word'}", hint
    )
