"""An MPI client: the real launcher, started here once a launch, reaching the hosts over SSH."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.bench.clients.base import Workload
from plink.bench.clients.facts import HostFacts, for_each
from plink.bench.clients.mpi_output import Run, check_order, explain, is_timeout, parse_run
from plink.bench.clients.mpi_program import Program, compile_program, find_tool, install
from plink.bench.clients.ssh_files import SshFiles, write_ssh_files
from plink.errors import PlinkError
from plink.files.cluster import Host
from probes.errors import HostError
from probes.ssh.options import SshOptions
from probes.ssh.session import Session

_LAUNCH_MARGIN_S = 60.0
_TERMINATE_LIMIT_S = 10.0


@dataclass(frozen=True)
class LaunchPlan:
    """All that a launcher's command line depends on.

    Args:
        launcher: the launcher program.
        folder: where host files may be written.
        ssh: how the launcher reaches hosts.
        hosts: the hosts in rank order.
        interfaces: the names of the network interfaces that bear traffic, without repetition;
            empty where a host cannot tell.
        local_address: this machine's address that the hosts can reach.
        shares_kernel: several hosts are one machine, so that a rank that spins takes CPU from
            another.
        workload: what runs; `workload.algorithm` is to be forced.
        program: the command that every rank runs.
    """

    launcher: str
    folder: Path
    ssh: SshFiles
    hosts: Sequence[Host]
    interfaces: Sequence[str]
    local_address: str
    shares_kernel: bool
    workload: Workload
    program: Sequence[str]


@dataclass(frozen=True)
class Flavour:
    """What differs from one MPI to another.

    Args:
        title: its name as people write it.
        compilers: compiler wrappers to look for.
        launchers: launchers to look for.
        helper: the program that the launcher starts on each host.
        packages: Debian's packages with all of these.
        command: the launcher's command line.
        check_version: refuses a launcher's version text that it does not know.
    """

    title: str
    compilers: Sequence[str]
    launchers: Sequence[str]
    helper: str
    packages: str
    command: Callable[[LaunchPlan], list[str]]
    check_version: Callable[[str], None]


class MpiClient:
    """`flavour` on `hosts`, which `sessions` reach; `facts` is what they said of themselves."""

    def __init__(
        self,
        flavour: Flavour,
        sessions: Sequence[Session],
        hosts: Sequence[Host],
        facts: Sequence[HostFacts],
        workload: Workload,
        ssh_options: SshOptions,
        mpicc: str | None = None,
        mpirun: str | None = None,
    ) -> None:
        self._flavour = flavour
        self._sessions = sessions
        self._hosts = hosts
        self._facts = facts
        self._workload = workload
        self._ssh_options = ssh_options
        self._mpicc = mpicc
        self._mpirun = mpirun
        self._folder = tempfile.TemporaryDirectory(prefix="plink-bench-")
        self._launcher = ""
        self._program: Program | None = None
        self._ssh: SshFiles | None = None

    def start(self) -> Mapping[str, str]:
        """Compile the program, put it on every host, and run it once on two repetitions' notice."""
        flavour, folder = self._flavour, Path(self._folder.name)
        self._check_hostnames()
        compiler = find_tool(self._mpicc, flavour.compilers, flavour.title, flavour.packages)
        self._launcher = find_tool(
            self._mpirun, flavour.launchers, flavour.title, flavour.packages
        )
        version = _version_text(self._launcher)
        flavour.check_version(version)
        program = compile_program(compiler, folder)
        for_each(
            self._sessions,
            lambda _, session: install(
                session, program, flavour.helper, flavour.title, flavour.packages
            ),
        )
        self._program = program
        self._ssh = write_ssh_files(folder, self._hosts, self._ssh_options)
        tiny = Workload(self._workload.algorithm, 4 * len(self._hosts), 0, 1)
        run = self._launch(list(range(len(self._hosts))), tiny)
        return {"launcher": version, "library": run.library}

    def measure(self, order: Sequence[int]) -> list[float]:
        """One launch with rank r on host `order[r]`."""
        return list(self._launch(order, self._workload).seconds)

    def close(self) -> None:
        """Remove the files here; what ran on the hosts ended with each launch."""
        self._folder.cleanup()

    def _launch(self, order: Sequence[int], workload: Workload) -> Run:
        assert self._program is not None and self._ssh is not None  # noqa: PT018
        limit_s = workload.launch_limit_s + _LAUNCH_MARGIN_S
        arguments = [workload.elements, workload.warmups, workload.repetitions, round(limit_s)]
        interfaces = sorted({self._facts[host].interface for host in order})
        plan = LaunchPlan(
            launcher=self._launcher,
            folder=Path(self._folder.name),
            ssh=self._ssh,
            hosts=[self._hosts[host] for host in order],
            interfaces=interfaces if all(interfaces) else [],
            local_address=_local_address(self._hosts[order[0]].address),
            shares_kernel=len({facts.boot_id for facts in self._facts}) < len(self._facts),
            workload=workload,
            program=self._program.command([str(value) for value in arguments]),
        )
        output = self._run(self._flavour.command(plan), limit_s)
        run = parse_run(output, workload.repetitions)
        check_order(run, [self._facts[host].hostname for host in order])
        return run

    def _run(self, command: Sequence[str], limit_s: float) -> str:
        # Its own process group: Ctrl-C reaches plink alone, which then ends the launcher.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=limit_s + _TERMINATE_LIMIT_S)
        except subprocess.TimeoutExpired:
            _end(process)
            raise self._silent_host(limit_s) from None
        except BaseException:
            _end(process)
            raise
        if process.returncode == 0:
            return output
        if is_timeout(errors):
            raise self._silent_host(limit_s)
        raise explain(self._launcher, process.returncode, errors)

    def _silent_host(self, limit_s: float) -> PlinkError | HostError:
        """The error for a launch that took too long: it names a host that no longer answers."""
        for session in self._sessions:
            try:
                session.run("true", timeout_s=5.0)
            except HostError as error:
                return HostError(session.host, f"stopped answering during a launch ({error})")
        return PlinkError(f"a launch with {self._launcher} did not end within {limit_s:g} s")

    def _check_hostnames(self) -> None:
        """The order can be checked only if every host calls itself by another name."""
        seen: dict[str, str] = {}
        for host, facts in zip(self._hosts, self._facts, strict=True):
            other = seen.setdefault(facts.hostname, host.name)
            if other != host.name:
                raise PlinkError(
                    f"{other} and {host.name} both call themselves {facts.hostname}, "
                    "so that no launcher's order could be checked",
                    "give each host its own host name",
                )


def _version_text(launcher: str) -> str:
    try:
        done = subprocess.run(
            [launcher, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlinkError(f"{launcher} cannot be run: {error}") from None
    return " ".join(done.stdout.split())


def _local_address(remote_address: str) -> str:
    """The address from which this machine would send to `remote_address`; nothing is sent."""
    family = socket.AF_INET6 if ":" in remote_address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((remote_address, 9))
            name: tuple[str, int] = probe.getsockname()
            return name[0]
    except OSError as error:
        raise PlinkError(f"this machine has no route to {remote_address} ({error})") from None


def _end(process: subprocess.Popen[str]) -> None:
    """Ask the launcher to end its ranks; make it, where it does not."""
    process.terminate()
    try:
        process.communicate(timeout=_TERMINATE_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
