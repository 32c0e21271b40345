"""An MPI client: the real launcher, started here once a launch, reaching the hosts over SSH."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.base.errors import PlinkError
from plink.bench.clients.client import FLOAT32_BYTES, Launch, Measured, Workload
from plink.bench.clients.mpi_flavours import Flavour, LauncherJob, TrafficNetwork
from plink.bench.clients.mpi_program import (
    MpiProgram,
    MpiReport,
    check_order,
    compile_program,
    complete_report,
    explain,
    find_tool,
    install,
    is_timeout,
)
from plink.deploy.remote.hosts import RemoteHost, for_each
from plink.deploy.remote.launcher import LauncherExit, run_launcher, version_text
from plink.deploy.remote.remote_shell import write_remote_shell
from plink.formats.comparison import ClientRecord
from plink.probes.errors import HostError
from plink.probes.reach import Outgoing

_LAUNCH_MARGIN_S = 60.0
_ANSWER_LIMIT_S = 15.0
_ALARM_MARGIN_S = 10.0


@dataclass(frozen=True)
class MpiTools:
    """MPI tools of the user's choice; None for those on PATH, or for the user's cache.

    Args:
        mpicc: the compiler wrapper.
        mpirun: the launcher.
        remote_folder: where the program goes on the hosts.
    """

    mpicc: str | None = None
    mpirun: str | None = None
    remote_folder: str | None = None


@dataclass(frozen=True)
class FoundTools:
    """MPI tools found on this machine: compiler wrapper, launcher and its version."""

    mpicc: str
    mpirun: str
    version: str
    remote_folder: str | None


def find_tools(flavour: Flavour, chosen: MpiTools) -> FoundTools:
    """Return the tools of an MPI on this machine.

    Raises:
        PlinkError: one is missing, or is another MPI's.
    """
    mpicc = find_tool(chosen.mpicc, flavour.compilers, flavour.title, flavour.packages)
    mpirun = find_tool(chosen.mpirun, flavour.launchers, flavour.title, flavour.packages)
    version = flavour.version_of(version_text(mpirun))
    return FoundTools(mpicc, mpirun, version, chosen.remote_folder)


class MpiClient:
    """The real launcher of an MPI, and a small program that times its allreduce.

    Args:
        flavour: which MPI.
        hosts: the hosts that take part, once for each rank that they may take.
        algorithm: the allreduce to force.
        timeout_s: the longest that one allreduce of the trial at the start may take.
        way: how the launcher is to reach the hosts.
        tools: what starts it here.
    """

    def __init__(
        self,
        flavour: Flavour,
        hosts: Sequence[RemoteHost],
        *,
        algorithm: str,
        timeout_s: float,
        way: Outgoing,
        tools: FoundTools,
    ) -> None:
        self._flavour = flavour
        self._hosts = hosts
        self._timeout_s = timeout_s
        self._way = way
        self._tools = tools
        self._folder = tempfile.TemporaryDirectory(prefix="plink-bench-")
        self._network = _network_of(hosts)
        self._settings = flavour.settings(self._network, algorithm)
        self._program: MpiProgram | None = None
        self._remote_shell: Path | None = None

    def start(self) -> ClientRecord:
        """Compile the program, put it on every host, and launch it once on almost no data."""
        flavour, tools, folder = self._flavour, self._tools, Path(self._folder.name)
        once = list({host.name: host for host in self._hosts}.values())
        _check_hostnames(self._hosts)
        program = compile_program(tools.mpicc, folder, tools.remote_folder)
        for_each(
            once,
            lambda _, host: install(
                host.session, program, flavour.helper, flavour.title, flavour.packages
            ),
        )
        self._program = program
        self._remote_shell = write_remote_shell(folder, [host.entry for host in once], self._way)
        everyone = range(len(self._hosts))
        smallest = Workload(
            FLOAT32_BYTES * len(everyone), warmups=0, repetitions=1, timeout_s=self._timeout_s
        )
        report = self._run(Launch(everyone, smallest))
        return ClientRecord(
            {flavour.title: tools.version, "library": report.library}, self._settings
        )

    def launch(self, launch: Launch) -> Measured:
        """Run a job of the real launcher."""
        report = self._run(launch)
        return Measured(report.seconds, report.cpu_s)

    def launch_sizes(
        self, seats: Sequence[int], workloads: Sequence[Workload]
    ) -> tuple[list[Measured], float | None]:
        """Run several sizes in turn in one job.

        Args:
            seats: of every rank.
            workloads: which differ in nothing but the size.

        Returns:
            the times of each, and the seconds of adding 10^9 bytes, None where all are small.
        """
        first = workloads[0]
        report = self._run(Launch(seats, first), workloads)
        count = first.repetitions
        parts = [slice(start, start + count) for start in range(0, count * len(workloads), count)]
        found = [Measured(report.seconds[part], report.cpu_s[part]) for part in parts]
        return found, report.reduction_s_per_gb

    def close(self) -> None:
        """Remove the files here; what ran on the hosts ended with each launch."""
        self._folder.cleanup()

    def _run(self, launch: Launch, workloads: Sequence[Workload] = ()) -> MpiReport:
        if self._program is None or self._remote_shell is None:
            raise RuntimeError("start() comes first")
        workload = launch.workload
        sizes = [each.elements for each in workloads or [workload]]
        limit_s = workload.launch_limit_s * len(sizes) + _LAUNCH_MARGIN_S
        elements = ",".join(map(str, sizes))
        arguments = [elements, workload.warmups, workload.repetitions, round(limit_s)]
        hosts = [self._hosts[seat] for seat in launch.seats]
        job = LauncherJob(
            launcher=self._tools.mpirun,
            folder=Path(self._folder.name),
            remote_shell=self._remote_shell,
            hosts=[host.entry for host in hosts],
            local_address=self._network.local_address,
            settings=self._settings,
            program=self._program.command([str(value) for value in arguments]),
        )
        # The program's own alarm comes first, so that it also ends where this machine is gone.
        ended = run_launcher(self._flavour.command(job), limit_s + _ALARM_MARGIN_S)
        hostnames = [host.hostname for host in hosts]
        repetitions = workload.repetitions * len(sizes)
        report = None
        if ended is not None:
            report = complete_report(ended.status, ended.stdout, repetitions)
        if report is None:
            raise self._failure(ended, limit_s, hostnames)
        check_order(report, hostnames)
        return report

    def _failure(
        self, ended: LauncherExit | None, limit_s: float, hostnames: Sequence[str]
    ) -> PlinkError | HostError:
        """Return why a launch failed; a host that no longer answers explains all the rest."""
        for host in self._hosts:
            try:
                host.session.run("true", timeout_s=_ANSWER_LIMIT_S)
            except HostError as error:
                return HostError(host.name, f"stopped answering during a launch ({error})")
        printed = "" if ended is None else ended.stdout + ended.stderr
        if ended is None or is_timeout(printed):
            return PlinkError(
                f"a launch with {self._tools.mpirun} did not end within {limit_s:g} s"
            )
        return explain(self._tools.mpirun, ended.status, printed, hostnames)


def _check_hostnames(hosts: Sequence[RemoteHost]) -> None:
    """The order can be checked only if every host calls itself by another name."""
    seen: dict[str, str] = {}
    for host in hosts:
        other = seen.setdefault(host.hostname, host.name)
        if other != host.name:
            raise PlinkError(
                f"{other} and {host.name} both call themselves {host.hostname}, "
                "so that the launcher's order could not be checked",
                "give each host its own host name",
            )


def _network_of(hosts: Sequence[RemoteHost]) -> TrafficNetwork:
    interfaces = sorted({host.interface for host in hosts})
    machine_of = {host.name: host.machine for host in hosts if host.machine}
    machines = list(machine_of.values())
    return TrafficNetwork(
        addresses=[host.address for host in hosts],
        interfaces=interfaces if all(interfaces) else [],
        local_address=_local_address(hosts[0].address),
        shares_machines=len(set(machines)) < len(machines),
    )


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
