"""Network settings, counters, clock and load of a host, read by shell scripts that run on it.

A shell reads `/sys/class/net`, `/proc/net/snmp` and `/proc/stat` twice, a second apart, so that
what a host does while nobody measures is known beside what its counters add up to.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_type_hints

from msgspec import Meta, Struct, ValidationError, convert

from plink.probes.errors import HostError
from plink.probes.remote.session import Session, posix_command

_QUIET_S = 1
_SCRIPT = """
PATH=$PATH:/usr/sbin:/sbin
n=/sys/class/net/$1
tell() { [ -r "$2" ] && echo "$1 $(head -n 1 "$2" 2>/dev/null)"; }
counters() {
  for c in rx_bytes tx_bytes rx_packets tx_packets rx_errors tx_errors rx_dropped tx_dropped \
rx_crc_errors; do tell "$1 $c" "$n/statistics/$c"; done
  sed -n "s/^Tcp: [0-9]/$1 tcp &/p" /proc/net/snmp
  sed -n "s/^cpu  */$1 cpu /p" /proc/stat
  for f in /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat; do
    [ -r $f ] && sed -n "s/^nr_throttled/$1 throttled/p" $f
  done
}
tell mtu $n/mtu; tell speed $n/speed; tell duplex $n/duplex; tell carrier_changes $n/carrier_changes
tell pcie_now $n/device/current_link_speed; tell pcie_most $n/device/max_link_speed
tell pcie_now_width $n/device/current_link_width; tell pcie_most_width $n/device/max_link_width
tell congestion /proc/sys/net/ipv4/tcp_congestion_control
tell kernel /proc/sys/kernel/osrelease
tell load /proc/loadavg
echo "cores $(nproc 2>/dev/null || echo 1)"
for p in /sys/class/infiniband/*/ports/*; do
  [ -r "$p/rate" ] && tell "ib ${p#/sys/class/}" "$p/rate"
done
counters before
sleep QUIET_S
counters after
echo done
""".replace("QUIET_S", str(_QUIET_S))

_CLOCK = "date +%s.%N"

# How much of a processor a program gets: what it ran (proc(5), schedstat) of the time that passed.
# Beside it, in how many periods the limit of its control group stopped it (cgroups(7), cpu.stat).
_SPIN = r"""
old=$(sed -n 's/^[0-9]*:\([a-z]*,\)*cpu\(,[a-z]*\)*://p' /proc/self/cgroup | head -n 1)
new=$(sed -n 's/^0:://p' /proc/self/cgroup)
limit() {
  for f in "/sys/fs/cgroup/cpu$old/cpu.stat" "/sys/fs/cgroup$new/cpu.stat"; do
    if [ -r "$f" ]; then sed -n "s/^nr_/$1 /p" "$f"; return; fi
  done
}
[ -r /proc/$$/schedstat ] || exit 0
limit before
for turn in 1 2 3 4 5; do
  began=$(date +%s%N); read -r ran rest < /proc/$$/schedstat
  i=0; while [ $i -lt 15000 ]; do i=$((i+1)); done
  read -r after rest < /proc/$$/schedstat; ended=$(date +%s%N)
  echo "$((after-ran)) $((ended-began))"
done
limit after
"""

_LEAST_PERIODS = 3
# A turn that ran for less says nothing.
_LEAST_TURN_NS = 2_000_000

# Names and numbers of these lines are a host's own words: whatever else it says is passed over.
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_SPEED = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?) ?(?:GT/s|Gb/sec)")
_CLOCK_ANSWER = re.compile(r"[0-9]{9,12}\.[0-9]{1,9}")
_COUNTERS = (
    *("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors", "tx_errors"),
    *("rx_dropped", "tx_dropped", "rx_crc_errors", "throttled"),
)
# Places in the line `Tcp:` of /proc/net/snmp (RFC 4022) and in `cpu` of /proc/stat.
_TCP_SENT, _TCP_AGAIN = 11, 12
_CPU_IDLE, _CPU_IOWAIT, _CPU_STEAL = 3, 4, 7
_MOST_CLOCK_S = 1e10

Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.+-]{1,64}$(?!\n)")]
Share = Annotated[float, Meta(ge=0, le=1)]
Rate = Annotated[float, Meta(ge=0, le=1e15)]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]
Lanes = Annotated[int, Meta(ge=1, le=64)]


class HostCondition(Struct, frozen=True, forbid_unknown_fields=True):
    """Network condition of a host: settings, counters, clock and load; None where unknown.

    Attributes:
        interface: interface that carries the host's traffic; empty if unknown
        mtu_bytes: largest packet of the interface, in bytes
        speed_mbit: speed of the link, as the driver has it, in Mbit/s
        duplex: `full` or `half`
        pcie_share: what the NIC's slot carries of what the NIC could use, 0 to 1
        congestion_control: congestion control of TCP sockets
        kernel: release of the kernel
        load: number of runnable processes, on average over a minute
        cores: number of processors
        busy_share: share of the processors' time that anything used in a quiet second
        steal_share: share of that time that the machine below a virtual one took
        processor_share: share of a processor that a program gets that wants all of it, 0 to 1: the
            best of a few short turns
        throttled_share: share of its control group's periods in which a limit stopped it then
        rx_bytes_s, tx_bytes_s: what the interface received and sent in that second, in bytes/s
        counters: counters since the host started, by name; `tcp_sent` and `tcp_again` are segments
        infiniband_gbit_s: rate of each port, by its name, in Gbit/s
        clock_offset_s: how far the host's clock is ahead of this machine's, in s
        clock_error_s: error of that offset to either side, in s
    """

    interface: Annotated[str, Meta(pattern=r"^([!-,./-~][!-~]{0,254})?$(?!\n)")] = ""
    mtu_bytes: Annotated[int, Meta(ge=1, le=1 << 20)] | None = None
    speed_mbit: Annotated[int, Meta(ge=1, le=10_000_000)] | None = None
    duplex: Literal["full", "half"] | None = None
    pcie_share: Share | None = None
    congestion_control: Word | None = None
    kernel: Word | None = None
    load: Annotated[float, Meta(ge=0, le=1e6)] | None = None
    cores: Annotated[int, Meta(ge=1, le=1 << 20)] = 1
    busy_share: Share | None = None
    steal_share: Share | None = None
    processor_share: Share | None = None
    throttled_share: Share | None = None
    rx_bytes_s: Rate | None = None
    tx_bytes_s: Rate | None = None
    counters: Annotated[Mapping[str, Count], Meta(max_length=64)] = {}
    infiniband_gbit_s: Annotated[Mapping[str, Rate], Meta(max_length=64)] = {}
    clock_offset_s: Annotated[float, Meta(ge=-_MOST_CLOCK_S, le=_MOST_CLOCK_S)] | None = None
    clock_error_s: Annotated[float, Meta(ge=0, le=_MOST_CLOCK_S)] | None = None


_MEMBERS = get_type_hints(HostCondition, include_extras=True)


def ask(session: Session, interface: str) -> HostCondition:
    """Read a host's network settings, counters and clock by a shell script that takes a second.

    Raises:
        HostError: it runs no POSIX shell, or the connection is gone.
    """
    asked_at_s = time.time()
    clock = session.run(_CLOCK).stdout.decode(errors="replace").strip()
    answered_at_s = time.time()
    done = session.run(posix_command(_SCRIPT, interface))
    text = done.stdout.decode(errors="replace")
    if not text.rstrip().endswith("done"):
        raise HostError(
            session.host,
            "its shell did not reach the end of the script that reads its network settings",
        )
    offset_s = error_s = None
    if _CLOCK_ANSWER.fullmatch(clock):
        offset_s = float(clock) - (asked_at_s + answered_at_s) / 2.0
        error_s = (answered_at_s - asked_at_s) / 2.0
    return parse(text, interface, offset_s, error_s)


@dataclass(frozen=True)
class ProcessorShares:
    """Processor share, 0 to 1, that a busy loop got on a host, and how much its cgroup throttled.

    Args:
        processor_share: share of the time in which the loop ran on its processor.
        throttled_share: share of scheduling periods in which its control group was throttled.
    """

    processor_share: float | None
    throttled_share: float | None


def measure_processor_shares(session: Session) -> ProcessorShares:
    """Run a short busy loop on a host five times; return its best share of a processor.

    Raises:
        HostError: the connection is gone.
    """
    text = session.run(posix_command(_SPIN)).stdout.decode(errors="replace")
    return ProcessorShares(find_best_share(text), compute_throttled_share(text))


def compute_throttled_share(text: str) -> float | None:
    """Return the share of scheduling periods in which a cgroup was throttled; None with < 3."""
    lines = [line.rpartition(" ") for line in text.splitlines()]
    counts = {name: int(value) for name, _, value in lines if _WHOLE.fullmatch(value)}
    with suppress(KeyError):
        periods, stopped = (
            counts[f"after {name}"] - counts[f"before {name}"] for name in ("periods", "throttled")
        )
        return min(1.0, max(0.0, stopped / periods)) if periods >= _LEAST_PERIODS else None
    return None


def find_best_share(text: str) -> float | None:
    """Return the best share of a processor, by lines `RAN ELAPSED` in ns; None without one."""
    shares = []
    for line in text.splitlines():
        ran, _, passed = line.partition(" ")
        if not (_WHOLE.fullmatch(ran) and _WHOLE.fullmatch(passed)):
            continue
        if int(passed) >= int(ran) >= _LEAST_TURN_NS:
            shares.append(int(ran) / int(passed))
    return max(shares, default=None)


def parse(
    text: str, interface: str, offset_s: float | None = None, error_s: float | None = None
) -> HostCondition:
    """Parse the output of the script that reads a host's network condition; skip unknown lines."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        if name in ("before", "after", "ib"):
            second, _, value = value.partition(" ")
            name = f"{name} {second}"
        values.setdefault(name, value.strip())
    before, after = (_read_counters(values, when) for when in ("before", "after"))
    cpu = _compute_cpu_shares(values.get("before cpu", ""), values.get("after cpu", ""))
    load = values.get("load", "").split(" ")[0]
    return HostCondition(
        interface=interface,
        mtu_bytes=_convert(values.get("mtu"), _MEMBERS["mtu_bytes"]),
        speed_mbit=_convert(values.get("speed"), _MEMBERS["speed_mbit"]),
        duplex=_convert(values.get("duplex"), _MEMBERS["duplex"]),
        pcie_share=_compute_pcie_share(values),
        congestion_control=_convert(values.get("congestion"), Word),
        kernel=_convert(values.get("kernel"), Word),
        load=_convert(load, _MEMBERS["load"]),
        cores=_convert(values.get("cores"), _MEMBERS["cores"]) or 1,
        busy_share=cpu[0],
        steal_share=cpu[1],
        rx_bytes_s=_compute_rate(before, after, "rx_bytes"),
        tx_bytes_s=_compute_rate(before, after, "tx_bytes"),
        counters=after,
        infiniband_gbit_s=_read_infiniband_rates(values),
        clock_offset_s=offset_s,
        clock_error_s=error_s,
    )


def _read_counters(values: Mapping[str, str], when: str) -> dict[str, int]:
    counters = {name: _convert(values.get(f"{when} {name}"), Count) for name in _COUNTERS}
    # The line begins with its own name.
    words = values.get(f"{when} tcp", "").split()
    if len(words) > _TCP_AGAIN:
        counters["tcp_sent"] = _convert(words[_TCP_SENT], Count)
        counters["tcp_again"] = _convert(words[_TCP_AGAIN], Count)
    return {name: number for name, number in counters.items() if number is not None}


def _compute_rate(before: Mapping[str, int], after: Mapping[str, int], name: str) -> float | None:
    if name not in before or name not in after:
        return None
    return max(0, after[name] - before[name]) / _QUIET_S


def _compute_cpu_shares(before: str, after: str) -> tuple[float, float] | tuple[None, None]:
    """Return the shares of processor time used and stolen between two lines of /proc/stat."""
    ticks = [
        [int(word) for word in text.split() if _WHOLE.fullmatch(word)] for text in (before, after)
    ]
    spent = [max(0, late - early) for early, late in zip(*ticks, strict=False)][: _CPU_STEAL + 1]
    total = sum(spent)
    if len(spent) <= _CPU_STEAL or not total:
        return None, None
    idle = spent[_CPU_IDLE] + spent[_CPU_IOWAIT]
    return (total - idle) / total, spent[_CPU_STEAL] / total


def _compute_pcie_share(values: Mapping[str, str]) -> float | None:
    speeds = [_SPEED.match(values.get(name, "")) for name in ("pcie_now", "pcie_most")]
    widths = [_convert(values.get(f"{name}_width"), Lanes) for name in ("pcie_now", "pcie_most")]
    if not all(speeds) or not all(widths):
        return None
    now, most = (
        float(speed[1]) * width
        for speed, width in zip(speeds, widths, strict=True)
        if speed and width
    )
    return min(1.0, now / most) if most else None


def _read_infiniband_rates(values: Mapping[str, str]) -> dict[str, float]:
    rates = {}
    for name, value in values.items():
        rate = _SPEED.match(value)
        port = name.removeprefix("ib infiniband/")
        if name.startswith("ib infiniband/") and rate and re.fullmatch(r"[\w./-]{1,64}", port):
            rates[port.replace("/ports/", ":")] = float(rate[1])
    return dict(sorted(rates.items())[:64])


def _convert(text: str | None, kind: Any) -> Any:
    """Return what a host says as a value of a type with limits; None if it is not one."""
    try:
        return convert(text, kind, strict=False)
    except ValidationError:
        return None
