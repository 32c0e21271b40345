"""Echo tool with an agent whose packets bypass the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from plink.probes.dpdk.nics import Nic
from plink.probes.echo import coordinator
from plink.probes.echo.deploy import AgentProgram
from plink.probes.echo.protocol import EchoSettings
from plink.probes.reach import ReachedHost
from plink.probes.remote.upload import EXEC
from plink.probes.samples import More, RemarkableSink, Rounds, RttReading, Wanted, no_more

# Each end of a pair polls: on one core they would wait for each other's time slice.
CORES_PER_PAIR = 2
AGENT_FILE = Path(__file__).parent / "bin" / "plink-dpdk-agent"

# DPDK takes root: by sudo where the user is another and sudo asks for no password.
_START = 'if [ "$me" -ne 0 ] && sudo -n true 2> /dev/null; then exec sudo -n "$f" "$@"; fi; ' + EXEC


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: EchoSettings,
    sink: RemarkableSink[RttReading],
    *,
    concurrency: int,
    adaptive: bool = False,
    ssh_concurrency: int = 16,
    cache_folder: str | None = None,
    nics: Sequence[Nic] = (),
    more: More = no_more,
) -> None:
    """Measure the wanted directed pairs, as `plink.probes.echo.coordinator.measure` does.

    A host without an entry in `nics` uses the interface that has its traffic address, beside the
    kernel.

    Raises:
        OptionError: the agent is not installed here.
    """
    by_host = {nic.host: nic for nic in nics}
    coordinator.measure(
        [_at_its_nic(host, by_host.get(host.name)) for host in hosts],
        wanted,
        rounds,
        options,
        sink,
        concurrency=concurrency,
        adaptive=adaptive,
        ssh_concurrency=ssh_concurrency,
        cache_folder=cache_folder,
        more=more,
        agent=AgentProgram(
            name="DPDK agent",
            file=AGENT_FILE,
            hint="install libdpdk-dev and reinstall plink, or use tool=echo",
            arguments=partial(_arguments, by_host),
            start=_START,
            cores_per_pair=CORES_PER_PAIR,
        ),
    )


def _at_its_nic(host: ReachedHost, nic: Nic | None) -> ReachedHost:
    return host if nic is None else replace(host, address=str(nic.address.ip))


def _arguments(nics: Mapping[str, Nic], host: ReachedHost) -> list[str]:
    nic = nics.get(host.name)
    if nic is None:
        return []
    gateway = [str(nic.gateway)] if nic.gateway else []
    return [nic.device, str(nic.address.network.prefixlen), *gateway]
