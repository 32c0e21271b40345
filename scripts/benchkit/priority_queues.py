"""Links of a lab that honour a type of service, as many switches do: what asks for low delay goes
first.
"""

from __future__ import annotations

import json

from benchkit.labs import BenchLab
from labkit import namespaces, wiring
from labkit.rates import burst_bytes
from labkit.system import run

# The bit of "low delay" in a type of service (RFC 1349), which Linux's own queues honour.
LOW_DELAY = 0x10
# As in the lab's own queues.
QUEUE_S = 0.05


def serve_low_delay_first(lab: BenchLab) -> int:
    """Give every shaped end of a link two queues in place of one, at the same rate.

    Args:
        lab: as it was made.

    Returns:
        How many ends there are.
    """
    ends = 0
    for path in sorted(namespaces.FOLDER.glob(wiring.namespace(lab.name, "*"))):
        with namespaces.inside(path.name):
            for queue in json.loads(run(["tc", "-json", "qdisc", "show"])):
                if queue["kind"] == "tbf":
                    run(["tc", "-batch", "-"], queues(queue["dev"], 8 * queue["options"]["rate"]))
                    ends += 1
    return ends


def queues(interface: str, rate_bits: int) -> str:
    """For `tc`, a command a line.

    Args:
        interface: what leaves it.
        rate_bits: of all of it, in bit/s.
    """
    burst = burst_bytes(rate_bits)
    most = f"ceil {rate_bits}bit burst {burst} cburst {burst}"
    limit = round(rate_bits / 8 * QUEUE_S)
    lines = [
        f"qdisc replace dev {interface} root handle 1: htb default 20",
        f"class add dev {interface} parent 1: classid 1:1 htb rate {rate_bits}bit {most}",
    ]
    for place, minor in enumerate((10, 20)):
        # Of what is within its half of the rate the first goes first; the rest is lent.
        half = f"rate {rate_bits // 2}bit {most} prio {place}"
        lines += [
            f"class add dev {interface} parent 1:1 classid 1:{minor} htb {half}",
            f"qdisc add dev {interface} parent 1:{minor} bfifo limit {limit}",
        ]
    lines.append(
        f"filter add dev {interface} parent 1: protocol ip u32"
        f" match ip tos {LOW_DELAY} {LOW_DELAY} flowid 1:10"
    )
    return "".join(f"{line}\n" for line in lines)
