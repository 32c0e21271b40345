"""Echo measurement by an agent that uses DPDK, so that its packets bypass the kernel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from plink.probes.echo import coordinator
from plink.probes.echo.coordinator import AgentProgram
from plink.probes.options import DpdkOptions
from plink.probes.reach import ReachedHost
from plink.probes.remote.upload import EXEC
from plink.probes.samples import MeasuringJob, RttReading, Sink

AGENT_FILE = Path(__file__).parent / "bin" / "plink-dpdk-agent"

# DPDK takes root: by sudo where the user is another and sudo asks for no password.
_START = 'if [ "$me" -ne 0 ] && sudo -n true 2> /dev/null; then exec sudo -n "$f" "$@"; fi; ' + EXEC


def measure(job: MeasuringJob[DpdkOptions], sink: Sink[RttReading]) -> None:
    """Measure round-trip times of the wanted directed pairs with DPDK; results go to `sink`.

    Raises:
        OptionError: the agent is not installed here.
    """
    by_host = {nic.host: nic for nic in job.options.nics}

    def list_arguments(host: ReachedHost) -> list[str]:
        nic = by_host.get(host.name)
        if nic is None:
            return []
        gateway = [str(nic.gateway)] if nic.gateway else []
        return [nic.device, str(nic.address.network.prefixlen), *gateway]

    agent = AgentProgram(
        name="DPDK agent",
        file=AGENT_FILE,
        hint="install libdpdk-dev and reinstall plink, or use the tool echo",
        arguments=list_arguments,
        start=_START,
    )
    hosts = [
        replace(host, address=str(by_host[host.name].address.ip)) if host.name in by_host else host
        for host in job.hosts
    ]
    coordinator.measure(replace(job, hosts=hosts), sink, agent)
