"""The schemas of what hosts said of their networks, and of what `plink doctor` makes of it."""

from __future__ import annotations

from plink.doctor.finding import Kind
from plink.schemas import parts
from plink.schemas.parts import Schema, closed, listed, or_null

_MOST_NAMES = 64
_MOST_S = 1e10
_MOST_BYTES_S = 1e15


def host_conditions() -> Schema:
    """What the hosts of a cluster said, each at most once."""
    return listed("what each host said", _host())


def _host() -> Schema:
    shares = {
        "pcie_share": "what the NIC's slot carries of what the NIC could use, 0 to 1",
        "busy_share": "of its processors' time in a quiet second, 0 to 1",
        "steal_share": "of its processors' time that the hypervisor took, 0 to 1",
        "processor_share": "what a program got of a processor, 0 to 1",
    }
    rates = {
        "rx_bytes_s": "received in a quiet second, in bytes/s",
        "tx_bytes_s": "sent in a quiet second, in bytes/s",
    }
    offset = "how far its clock is ahead of the machine that asked, in s"
    counter = parts.whole("since the host started", 0, 1 << 62)
    port = parts.number("rate of the port, in Gbit/s", 0.0, 1e6)
    return closed(
        "a host",
        {"host": parts.text("its name")},
        {
            "interface": or_null({"description": "its network interface", "type": "string"}),
            "mtu_bytes": or_null(parts.whole("the MTU, in bytes", 1, 1 << 20)),
            "speed_mbit": or_null(parts.whole("of the NIC, in Mbit/s", 1, 10_000_000)),
            "duplex": or_null(parts.one_of("of the NIC", ["full", "half"])),
            "congestion_control": or_null(parts.word("the default of TCP")),
            "kernel": or_null(parts.word("its release")),
            "load": or_null(parts.number("processes that run or want to, on average", 0.0, 1e6)),
            "cores": parts.whole("processors", 1, 1 << 20),
            **{name: or_null(parts.number(what, 0.0, 1.0)) for name, what in shares.items()},
            **{
                name: or_null(parts.number(what, 0.0, _MOST_BYTES_S))
                for name, what in rates.items()
            },
            "counters": or_null(
                {**parts.by_name("by name", counter), "maxProperties": _MOST_NAMES}
            ),
            "infiniband_gbit_s": or_null(
                {**parts.by_name("by port, in Gbit/s", port), "maxProperties": _MOST_NAMES}
            ),
            "clock_offset_s": or_null(parts.number(offset, -_MOST_S, _MOST_S)),
            "clock_error_s": or_null(parts.number("of `clock_offset_s`, in s", 0.0, _MOST_S)),
        },
    )


def doctor_output() -> Schema:
    """What `plink doctor --json` prints."""
    what = "What is wrong, where and how surely: what `plink doctor --json` prints"
    certainties = ["certain", "very likely", "likely", "possible"]
    finding = closed(
        "one cause, with all that it explains",
        {
            "kind": parts.one_of("of trouble", [kind.value for kind in Kind]),
            "hosts": parts.texts("names: one, two for a pair, or all of a group"),
            "group": or_null(parts.text("whose uplink it is; null if it is about none")),
            "says": parts.text("what is wrong, in words"),
            "probability": parts.number("that this is no chance, 0 to 1", 0.0, 1.0),
            "certainty": parts.one_of("the same in words", certainties),
            "cost": parts.number("how many times longer a transfer takes", 1.0),
            "evidence": parts.texts("further facts that it explains"),
            "advice": parts.texts("what to try, the likeliest first"),
        },
    )
    required = {
        "findings": listed("the gravest first; empty where nothing is wrong", finding),
        "looked_at": parts.texts("what was known"),
        "not_looked_at": parts.texts("what was not"),
        "not_asked": parts.texts("hosts that could not be asked, and why"),
    }
    return parts.document("plink doctor --json", what, closed(what, required))
