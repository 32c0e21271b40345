"""Programs beside a benchmark: ranks and daemons, how they are spoken to and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchkit.labs import Hosts
from labkit.bound import BOUND
from plink.autotune.log import records
from plink.autotune.log.records import Entry

_SCRIPTS = Path(__file__).resolve().parents[1]
_PROGRAMS = "benchkit.programs"
_END_TIMEOUT_S = 20

Process = subprocess.Popen[str]


def program(name: str) -> list[str]:
    """The command line of one of `benchkit.programs`, wherever it is started."""
    return ["env", f"PYTHONPATH={_SCRIPTS}", sys.executable, "-m", f"{_PROGRAMS}.{name}"]


@contextmanager
def start_processes(
    commands: Sequence[Sequence[str]], environments: Sequence[Mapping[str, str]] = ()
) -> Iterator[list[Process]]:
    """Programs that read lines and say lines, and end with their input.

    Those that have not ended then are killed; all are, where an error leaves the context.

    Args:
        commands: of each.
        environments: what each has beside ours; by default nothing.
    """
    with ExitStack() as stack:
        processes: list[Process] = []
        stack.callback(_kill, processes)
        for number, command in enumerate(commands):
            # PyTorch warns of addresses without a name, which all of the lab's are.
            environment = {**os.environ, "TORCH_CPP_LOG_LEVEL": "ERROR"}
            process = _open_process(
                command, env=environment | dict(*environments[number : number + 1])
            )
            processes.append(process)
        yield processes
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_TIMEOUT_S)


def ranks_started(
    hosts: Hosts, names: Sequence[str], program_name: str
) -> contextlib.AbstractContextManager[list[Process]]:
    """One of our programs as a rank on each of these hosts."""
    return start_processes([[*hosts.command_on(name), *program(program_name)] for name in names])


def rank_tasks(hosts: Hosts, names: Sequence[str], **common: Any) -> list[dict[str, Any]]:
    """For each rank its `rank` and `address`, the number of `ranks`, and rank 0's as `master`.

    `port` is where the ranks meet on that address.
    """
    master = hosts.addresses[names[0]]
    return [
        {
            "rank": rank,
            "ranks": len(names),
            "address": hosts.addresses[name],
            "master": master,
            "port": hosts.meeting_port,
            **common,
        }
        for rank, name in enumerate(names)
    ]


def answers_of_ranks(
    hosts: Hosts, names: Sequence[str], program_name: str, **task: Any
) -> list[dict[str, Any]]:
    """What every rank answered at its end.

    Args:
        hosts: the lab's, or this host alone.
        names: the host of each rank.
        program_name: in `benchkit.programs`.
        task: for all ranks, beside what `rank_tasks` tells them.

    Raises:
        SystemExit: a rank failed.
    """
    with ranks_started(hosts, names, program_name) as processes:
        for process, own in zip(processes, rank_tasks(hosts, names, **task), strict=True):
            tell(process, own)
        return [json.loads(said) for said in outputs(processes)]


def outputs(processes: Sequence[Process]) -> list[str]:
    """All that each says until it ends.

    Raises:
        SystemExit: one failed; the others are killed, who would wait for it.
    """
    # All at the same time: one whose answer is not read would keep those waiting that it meets.
    with ThreadPoolExecutor(len(processes)) as readers:
        reading = {readers.submit(process.communicate): process for process in processes}
        for done in as_completed(reading):
            if reading[done].returncode:
                _kill(processes)
    if any(process.returncode for process in processes):
        raise SystemExit("error: a rank failed; what it said is above")
    return [done.result()[0] for done in reading]


def tell(process: Process, message: Mapping[str, Any]) -> None:
    """Say a line of JSON to a program."""
    print(json.dumps(message), file=process.stdin, flush=True)


def next_line(process: Process) -> str:
    """The next line that a program says; nothing if it has ended."""
    return process.stdout.readline() if process.stdout is not None else ""


def answer(process: Process) -> dict[str, Any]:
    """The next line that a rank says, of JSON.

    Raises:
        RuntimeError: it has ended.
    """
    line = next_line(process)
    if not line:
        raise RuntimeError("a rank ended; what it said is above")
    answered: dict[str, Any] = json.loads(line)
    return answered


@dataclass(frozen=True)
class Daemon:
    """A running `plink autotune`.

    Args:
        environment: that ranks need to find it.
        log: what it has measured and decided.
    """

    environment: Mapping[str, str]
    log: Path

    def entries(self) -> list[Entry]:
        """What stands in the log by now."""
        return list(records.read(str(self.log))[1]) if self.log.exists() else []


@contextmanager
def autotuning(
    plan: Path, address: str, log: Path, prefix: Sequence[str] = (), *, is_quiet: bool = False
) -> Iterator[Daemon]:
    """Start `plink autotune` for one job; end it at the end.

    Args:
        plan: with which the job begins.
        address: to listen on.
        log: is written anew.
        prefix: what takes a command line to where the daemon runs.
        is_quiet: drop what it says while it runs.

    Raises:
        SystemExit: it did not start.
    """
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "plink", "autotune", "serve", str(plan)]
    command += ["--listen", f"{address}:0", "--log", str(log)]
    with _daemon([*prefix, *command], is_quiet=is_quiet) as process:
        words = shlex.split(_first_line(process))
        yield Daemon(dict(word.split("=", 1) for word in words if "=" in word), log)


@contextmanager
def own_daemon(
    task: Mapping[str, Any], prefix: Sequence[str] = ()
) -> Iterator[tuple[Process, int]]:
    """Start `benchkit.programs.daemon`; end it at the end.

    Args:
        task: for it, as its first line.
        prefix: what takes a command line to where the daemon runs.

    Returns:
        The process, and the port at which it listens.

    Raises:
        SystemExit: it did not start.
    """
    with _daemon([*prefix, *program("daemon")], is_quiet=False) as process:
        tell(process, task)
        yield process, int(_first_line(process))


@contextmanager
def _daemon(command: Sequence[str], *, is_quiet: bool) -> Iterator[Process]:
    with _open_process(command, stderr=subprocess.DEVNULL if is_quiet else None) as process:
        try:
            yield process
        finally:
            process.terminate()


def _open_process(command: Sequence[str], **options: Any) -> Process:
    return subprocess.Popen(
        [*BOUND, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Elsewhere than in the checkout, whose packages would hide the installed ones.
        cwd="/",
        # Ctrl-C is for us alone.
        start_new_session=True,
        **options,
    )


def _kill(processes: Sequence[Process]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def _first_line(process: Process) -> str:
    line = next_line(process)
    if not line:
        raise SystemExit("error: the daemon did not start")
    return line
