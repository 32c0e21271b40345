"""The plan that a tuned job begins with, and those that the best static one is looked for among."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchkit.engine_plans import lab_network
from benchkit.lab import BenchLab
from benchkit.tuned_scenarios import uplink_bits_s
from plink.autotune.tuner.masters import Masters, forest_of, layout_of, masters_of, normalised
from plink.files import plan as plan_file
from plink.files.groups import Group
from plink.files.plan import Plan, PlanRank
from plink.optimize.plans.planning import candidate

# Of what the hosts concerned, or their group, have in the first plan.
PARTS = (0.75, 0.5, 0.25, 0.0)


def first_plan(lab: BenchLab, rate_bits_s: float, size_bytes: int) -> Plan:
    """What `plink plan` makes of the lab before the change; flat where there is one rack."""
    hosts = lab.in_rack_order()
    racks = sorted(set(lab.racks.values()))
    rack_of = [racks.index(lab.racks[host]) for host in hosts]
    uplink = uplink_bits_s(rate_bits_s) if len(racks) > 1 else None
    network = lab_network(rack_of, rate_bits_s, uplink)
    kind = "2lha" if len(racks) > 1 else "flat"
    order = list(range(len(hosts)))
    made = candidate(kind, network, order, np.arange(len(hosts)), size_bytes)
    groups = [Group(rack, [h for h in hosts if lab.racks[h] == rack]) for rack in racks]
    return Plan(
        kind,
        [PlanRank(host, lab.addresses[host]) for host in hosts],
        made.forest,
        size_bytes,
        groups if len(racks) > 1 else (),
    )


def other_plans(plan: Plan, concerned: Sequence[int]) -> Iterator[tuple[float, Plan]]:
    """With less and less on the hosts concerned: on their group, where there are groups."""
    layout = layout_of(plan.forest, plan.host_of, plan.group_of)
    masters = masters_of(plan.forest, layout)
    for part in PARTS:
        of_groups, of_hosts = masters.of_groups.copy(), masters.of_hosts.copy()
        if layout.groups > 1:
            of_groups[list({int(layout.group_of[host]) for host in concerned})] *= part
        else:
            of_hosts[list(concerned)] *= part
        fewer: Masters = normalised(of_groups, of_hosts, layout)
        yield part, replace(plan, forest=forest_of(fewer, layout))


def write(plan: Plan, path: Path) -> Path:
    """The plan as a file; its path."""
    plan_file.write(str(path), plan)
    return path
