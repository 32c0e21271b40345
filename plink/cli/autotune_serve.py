"""Action of `plink autotune serve`: a daemon that tunes jobs' plans until interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import signal
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import click

from plink.autotune.daemon.job import Job
from plink.autotune.daemon.reprobing import Reprobing
from plink.autotune.daemon.server import Served, Server
from plink.autotune.daemon.terminal import view
from plink.autotune.log.journal import LogJournal, only_writer
from plink.autotune.log.replay import (
    ResumeState,
    UnusableLogError,
    describe,
    read_resume_state,
    tuner_of,
)
from plink.autotune.protocol.addresses import address_for
from plink.autotune.protocol.handshake import DEFAULT_JOB
from plink.autotune.protocol.status import JobStatus
from plink.autotune.reprobing.prober import Prober
from plink.autotune.tuner.interface import TunerOptions
from plink.autotune.tuner.tuner import Tuner
from plink.base.coroutines import run_until_interrupted
from plink.base.errors import PlinkError, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import printable
from plink.cli.autotune_request import DaemonRequest
from plink.cli.json_output import print_json_line
from plink.cli.stderr import host_tls, note, read_or_make_secret, warn
from plink.cli.way_options import ReachOptions
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats import plan as plan_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.outputs import JobEnvironment
from plink.formats.plan import Plan
from plink.measure.listed import apply_recorded_way, read_hosts
from plink.measure.probing.request import resume_options
from plink.measure.probing.tools import TOOLS
from plink.probes.options import SSH
from plink.transport.addresses import format_address, is_wildcard, parse_address
from plink.transport.encryption import context_of
from plink.transport.listening import Acceptor
from plink.transport.proofs import is_name
from plink.transport.tls import FOLDER_VARIABLE

with lazy_imports():
    import prometheus_client
    from rich import live as rich_live

    from plink.autotune.daemon import metrics
    from plink.transport import scraping


_REFRESH_S = 0.5

Begin: TypeAlias = Callable[[], Awaitable[Acceptor]]


def run(plans_of_jobs: Sequence[str], request: DaemonRequest, reach: ReachOptions) -> int:
    """Run the daemon that tunes jobs' plans until interrupted; return the exit code.

    Raises:
        WrongUseError: a plan, secret or option is not valid.
        PlinkError: the daemon cannot listen on an address.
    """
    host, port = parse_address(request.listen, "--listen")
    paths = _list_paths_by_job(plans_of_jobs)
    if request.secret_file is not None and len(paths) > 1:
        raise WrongUseError(
            "--secret-file is for one job; each of several jobs has its own PLAN.secret"
        )
    jobs: dict[str, Served] = {}
    plans: dict[str, Plan] = {}
    secrets: dict[str, str] = {}
    for name, path in paths.items():
        plans[name] = plan = plan_file.read_plan(path)
        _build_tuner(plan, document.label(path))
        secrets[name] = request.secret_file or f"{path}.secret"
        jobs[name] = Served(
            _build_job(name, plan, request.log, len(paths)), read_or_make_secret(secrets[name])
        )
    prober = build_prober(request, reach, [served.job.plan for served in jobs.values()])
    for served in jobs.values():
        served.job.tell = note
    server = Server(jobs, note, _tls_context(request.tls))
    reprobing = [
        Reprobing(served.job, server.send, prober, tell=lambda text: note(printable(text)))
        for served in jobs.values()
    ]
    statuses = [served.job.status for served in jobs.values()]
    address = request.metrics
    begin_metrics = None if address is None else _build_metrics(address, statuses, server)

    async def begin(stack: contextlib.AsyncExitStack) -> Acceptor:
        stack.callback(server.close)
        if begin_metrics is not None:
            stack.push_async_callback((await begin_metrics()).close)
        acceptor = await server.listen(host, port)
        stack.push_async_callback(acceptor.close)
        return acceptor

    def print_environments(bound: str, port: int) -> None:
        for name, path in paths.items():
            told = _address_to_tell(plans[name], name, bound) if is_wildcard(bound) else host
            _print_environment(
                name,
                format_address(told, port),
                secrets[name],
                path,
                by_tls=bool(request.tls),
                as_json=request.as_json,
            )
        sys.stdout.flush()

    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        if request.log is not None:
            for name in paths:
                stack.enter_context(only_writer(_log_path(request.log, name, len(paths))))
        watched = statuses if request.is_watching else None
        run_until_interrupted(_serve(begin, print_environments, watched, reprobing))
    note("stopped serving; jobs that are training keep their current plans")
    return 0


def _tls_context(folder: str | None) -> ssl.SSLContext | None:
    files = None if folder is None else host_tls(folder)
    return None if files is None else context_of(files, is_server=True)


def _print_environment(
    job: str, address: str, secret_file: str, plan: str, *, by_tls: bool, as_json: bool
) -> None:
    """Print the environment variables that a job's ranks need, as shell words or JSON."""
    values = {"PLINK_AUTOTUNE": address, "PLINK_AUTOTUNE_SECRET_FILE": secret_file}
    if job != DEFAULT_JOB:
        values["PLINK_AUTOTUNE_JOB"] = job
    if by_tls:
        values[FOLDER_VARIABLE] = "FOLDER"
    values["PLINK_PLAN"] = plan
    if as_json:
        values.pop(FOLDER_VARIABLE, None)
        print_json_line(JobEnvironment(job, values, by_tls))
        return
    words = [f"{name}={value}" for name, value in values.items()]
    click.echo(f"{shlex.join(words)} torchrun ... train.py")


async def _serve(
    begin: Callable[[contextlib.AsyncExitStack], Awaitable[Acceptor]],
    when_listening: Callable[[str, int], None],
    watched: Sequence[JobStatus] | None,
    reprobing: Sequence[Reprobing],
) -> None:
    def probe_all() -> None:
        for each in reprobing:
            each.ask_by_hand()

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, probe_all)
    async with contextlib.AsyncExitStack() as stack:
        acceptor = await begin(stack)
        when_listening(*acceptor.address)
        if watched is None:
            await asyncio.Event().wait()
        else:
            await _watch(watched)


async def _watch(jobs: Sequence[JobStatus]) -> None:

    with rich_live.Live(auto_refresh=False, screen=False) as live:
        while True:
            live.update(view(jobs), refresh=True)
            await asyncio.sleep(_REFRESH_S)


def _address_to_tell(plan: Plan, job: str, bound: str) -> str:
    """Return the address at which a job's ranks find a daemon that listens on all addresses."""
    address = address_for(plan, bound)
    if address is None:
        name = socket.gethostname()
        note(
            f"listening on all addresses; this host knows no route to job {job}'s hosts, so its "
            f"ranks are told this host's name, {name}"
        )
        return name
    note(
        f"listening on all addresses; job {job}'s ranks are told {address}, from which this host "
        "reaches the plan's hosts"
    )
    return address


def _list_paths_by_job(plans: Sequence[str]) -> dict[str, str]:
    """Return the path of each job's plan file, by the job's name."""
    found: dict[str, str] = {}
    for text in plans:
        name, equals, path = text.partition("=")
        if not equals or not is_name(name):
            name, path = DEFAULT_JOB, text
        if name in found:
            raise WrongUseError(f"there are two plans for job {name}", "name the jobs: NAME=PLAN")
        found[name] = path
    return found


def _build_job(name: str, plan: Plan, log: str | None, jobs: int) -> Job:
    def make(begun: Plan) -> Tuner:
        return tuner_of(begun, TunerOptions())

    if log is None:
        return Job(name, plan, make)
    path = _log_path(log, name, jobs)
    return Job(name, plan, make, LogJournal(path), _find_resume_state(path, plan))


def _log_path(log: str, job: str, jobs: int) -> str:
    return log if jobs == 1 else f"{log}.{job}"


def _find_resume_state(path: str, plan: Plan) -> ResumeState | None:
    """Return the state at the end of an earlier log to continue, if any, and say so in a note."""
    if path == document.STANDARD_STREAM or path.endswith(".gz"):
        raise WrongUseError(
            f"--log is {path}, expected an uncompressed file, not standard output",
            "the log is both read and appended to",
        )
    document.check_writable(path)
    try:
        state = read_resume_state(path, plan)
    except UnusableLogError as error:
        note(f"tuning starts anew, as the log cannot be continued: {error}; it is kept as {path}.1")
        return None
    if state is not None:
        note(describe(state, path))
    return state


def _build_tuner(plan: Plan, source: str) -> Tuner:
    try:
        return tuner_of(plan, TunerOptions())
    except ValueError as error:
        raise WrongUseError(
            f"{source}: {error}", "plink plan --kind flat or 2lha makes a plan that can be tuned"
        ) from None


def _build_metrics(address: str, jobs: Sequence[JobStatus], server: Server) -> Begin:
    """Return a function that starts serving Prometheus metrics of jobs at an address."""
    try:
        registry = prometheus_client.CollectorRegistry()
        registry.register(metrics.JobCollector(jobs, server))
    except ImportError:
        raise PlinkError(
            "--metrics needs the package prometheus_client", "pip install prometheus-client"
        ) from None
    host, port = parse_address(address, "--metrics")
    return lambda: scraping.Scraping(registry).listen(host, port)


def build_prober(
    request: DaemonRequest, reach: ReachOptions, plans: Iterable[Plan]
) -> Prober | None:
    """Build the prober that measures hosts again; None without --cluster and --hosts."""
    cluster, hosts, way = request.cluster, request.hosts, reach.resolve()
    if cluster is None and hosts is None:
        return None
    output = request.output or cluster
    if output is not None:
        document.check_writable(output, has_matrices=True)
    if cluster is not None:
        if cluster == document.STANDARD_STREAM:
            raise WrongUseError("--cluster cannot be standard input, as the file is updated")
        known, source = cluster_file.read_cluster(cluster), document.label(cluster)
        if known.rtt is not None and known.rtt.tool in TOOLS:
            resume_options(known, cluster, known.rtt.tool, {})
        way = apply_recorded_way(way, known.way, source)
    else:
        listed = read_hosts(hosts or "")
        source = document.label(hosts or "")
        known = Cluster(
            [
                Host(host.name, host.name, None, host.user, host.port, host.slots)
                for host in listed.hosts
            ]
        )
        if any(host.connect_to or host.ssh_options for host in listed.hosts):
            raise WrongUseError(
                f"{source}: contains addresses or SSH options, which --hosts cannot use",
                f"plink probe {source} -o cluster.json, then --cluster cluster.json",
            )
        way = listed.way(way, is_ssh_said=reach.via == SSH)
        for text in listed.notes:
            warn(text)
    prober = Prober(known, source, output, way)
    for plan in plans:
        prober.check(plan)
    return prober
