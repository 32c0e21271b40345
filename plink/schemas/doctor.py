"""The schemas of what `plink doctor` is told by hosts, and of what it prints."""

from __future__ import annotations

from plink.doctor.finding import Kind
from plink.schemas import parts
from plink.schemas.parts import Schema, closed, listed, or_null

_MOST_S = 1e10


def condition() -> Schema:
    """What a host said of its network (`plink.files.conditions`)."""
    share = {
        "pcie_share": "what the NIC's slot carries of what the NIC could use",
        "busy_share": "of the processors' time in a quiet second, what was used",
        "steal_share": "of the same, what the machine below took",
        "processor_share": "what a program that wants all of a processor got of it",
        "throttled_share": "of the periods of its control group, those in which a limit stopped it",
    }
    number = {
        "load": "runnable processes, on average over a minute",
        "rx_bytes_s": "what the interface received in a quiet moment, in bytes/s",
        "tx_bytes_s": "what it sent then, in bytes/s",
        "clock_error_s": "of the offset, to either side, in s",
    }
    return closed(
        "what a host said of its network",
        {"host": parts.text("its name")},
        {
            "interface": parts.any_of(
                "that carries its traffic",
                [parts.word("its name"), {"const": "", "description": "it is not known"}],
            ),
            "mtu_bytes": or_null(parts.whole("of the interface, in bytes", 1, 1 << 20)),
            "speed_mbit": or_null(parts.whole("of the link, in Mbit/s", 1, 10_000_000)),
            "duplex": or_null(parts.one_of("of the link", ["full", "half"])),
            "congestion_control": or_null(parts.word("that TCP uses")),
            "kernel": or_null(parts.word("its release")),
            "cores": parts.whole("processors", 1, 1 << 20),
            **{name: or_null(parts.number(what, 0.0, 1.0)) for name, what in share.items()},
            **{name: or_null(parts.number(what)) for name, what in number.items()},
            "counters": or_null(
                parts.by_name("since the host started", parts.whole("how often", 0, 1 << 62))
            ),
            "infiniband_gbit_s": or_null(
                parts.by_name("of each port, in Gbit/s", parts.number("Gbit/s", 0.0, 1e6))
            ),
            "clock_offset_s": or_null(
                parts.number("ahead of the machine that asked, in s", -_MOST_S, _MOST_S)
            ),
        },
    )


def doctor_output() -> Schema:
    """What `plink doctor --json` prints."""
    what = "What slows a cluster or a job down: what `plink doctor --json` prints"
    finding = closed(
        "one cause, with all that it explains",
        {
            "kind": parts.one_of("of trouble", [kind.value for kind in Kind]),
            "hosts": parts.texts("one, the two of a pair, or those of a group"),
            "group": or_null(parts.text("whose uplink it is")),
            "says": parts.text("what is wrong, with numbers and their units"),
            "probability": parts.number("that it is no chance, 0 to 1", 0.0, 1.0),
            "certainty": parts.text("the same in words"),
            "cost": parts.number("how many times longer a transfer takes", 1.0),
            "evidence": parts.texts("what else it explains"),
            "advice": parts.texts("what to try, the likeliest first"),
        },
    )
    required = {
        "findings": listed("the weightiest first", finding),
        "looked_at": parts.texts("what there was to look at"),
        "not_looked_at": parts.texts("what there was not"),
        "not_asked": parts.texts("hosts that could not be asked, and why"),
    }
    return parts.document("plink doctor --json", what, closed(what, required))
