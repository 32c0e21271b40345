"""Slurm files: SLURM_HOSTFILE, which fixes ranks, and topology files of several versions.

SLURM_HOSTFILE has one line per task, and only the arbitrary distribution obeys it (srun(1),
--distribution=arbitrary). Hosts stand under their node names (NodeName in slurm.conf).

topology.conf(5) and topology.yaml(5): leaves hold nodes; where topology.yaml exists, Slurm
ignores topology.conf. Blocks: the least group is the base block size, which Slurm plans with; the
blocks of Slurm 23.11 have no such setting, and it refuses the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.deploy.launchers import format as launcher_format
from plink.deploy.launchers.format import Format, places
from plink.formats.hosts import Group, Host

ROOT = "plink-root"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_USAGE = "cp FILE /etc/slurm/topology.{} && scontrol reconfigure"


def render_hostfile(hosts: Sequence[Host]) -> str:
    """Return a SLURM_HOSTFILE: a line with a node's name for each of its tasks, by rank."""
    launcher_format.check_names(hosts, "Slurm", ipv6=False)
    return "".join(f"{place.host.name}\n" for place in places(hosts))


def _render_conf(groups: Sequence[Group], kind: str) -> str:
    """Return a Slurm topology.conf in which each group is a switch or a block."""
    check_names(groups)
    lines = [f"{kind}Name={group.name} Nodes={','.join(group.hosts)}\n" for group in groups]
    names_text, base_size = _summarize(groups)
    if kind == "Block":
        lines.append(f"BlockSizes={base_size}\n")
    elif len(groups) > 1:
        lines.append(f"SwitchName={ROOT} Switches={names_text}\n")
    return "".join(lines)


def _render_yaml(groups: Sequence[Group], kind: str) -> str:
    """Return a Slurm topology.yaml (25.05) in which each group is a switch or a block."""
    check_names(groups)
    names_text, base_size = _summarize(groups)
    lines = ["- topology: plink", "  cluster_default: true"]
    if kind == "block":
        lines += ["  block:", "    block_sizes:", f"      - {base_size}", "    blocks:"]
    else:
        lines += ["  tree:", "    switches:"]
        if len(groups) > 1:
            lines += [f'      - switch: "{ROOT}"', f'        children: "{names_text}"']
    for group in groups:
        lines += [f'      - {kind}: "{group.name}"', f'        nodes: "{",".join(group.hosts)}"']
    return "\n".join(lines) + "\n"


def _summarize(groups: Sequence[Group]) -> tuple[str, int]:
    """Return the groups' names joined by commas, and the host count of the smallest group."""
    return ",".join(group.name for group in groups), min(len(group.hosts) for group in groups)


def check_names(groups: Sequence[Group]) -> None:
    """Raise if a group's or host's name cannot name a switch, block or node in Slurm.

    Raises:
        WrongUseError: naming the first.
    """
    for group in groups:
        if not _NAME.fullmatch(group.name) or group.name == ROOT:
            raise WrongUseError(
                f"Slurm cannot take the group {brief(group.name)}, which cannot name a switch "
                "or block",
                "rename the group in the cluster file",
            )
        for name in group.hosts:
            if not _NAME.fullmatch(name):
                raise WrongUseError(
                    f"Slurm cannot take the host {brief(name)}, which cannot name a node",
                    "rename the host in the cluster file to its NodeName",
                )


HOSTFILE = Format(
    name="slurm",
    about="Slurm: SLURM_HOSTFILE for srun's arbitrary distribution, one line per task",
    usage="SLURM_HOSTFILE=$(realpath FILE) srun --distribution=arbitrary -n RANKS PROGRAM",
    render=render_hostfile,
)
TOPOLOGIES = (
    Format(
        name="slurm-tree",
        about="Slurm: topology.conf, groups of hosts as switches",
        usage=_USAGE.format("conf"),
        render=partial(_render_conf, kind="Switch"),
    ),
    Format(
        name="slurm-block",
        about="Slurm 24.05: topology.conf, groups of hosts as blocks",
        usage=_USAGE.format("conf"),
        render=partial(_render_conf, kind="Block"),
    ),
    Format(
        name="slurm-tree-yaml",
        about="Slurm 25.05: topology.yaml, groups of hosts as switches",
        usage=_USAGE.format("yaml"),
        render=partial(_render_yaml, kind="switch"),
    ),
    Format(
        name="slurm-block-yaml",
        about="Slurm 25.05: topology.yaml, groups of hosts as blocks",
        usage=_USAGE.format("yaml"),
        render=partial(_render_yaml, kind="block"),
    ),
)
