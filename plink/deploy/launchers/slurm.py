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

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.deploy.launchers import names
from plink.deploy.launchers.format import Format, TopologyFormat, places
from plink.formats.hosts import Group, Host

ROOT = "plink-root"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_CONF_USAGE = "cp FILE /etc/slurm/topology.conf && scontrol reconfigure"
_YAML_USAGE = "cp FILE /etc/slurm/topology.yaml && scontrol reconfigure"


def render_hostfile(hosts: Sequence[Host]) -> str:
    """Return a SLURM_HOSTFILE: a node's name once for each of its tasks."""
    names.check_names(hosts, "Slurm", ipv6=False)
    return "".join(f"{place.host.name}\n" for place in places(hosts))


def render_tree(groups: Sequence[Group]) -> str:
    """Return a topology.conf with a switch per group and one above them."""
    check_names(groups)
    lines = [f"SwitchName={group.name} Nodes={','.join(group.hosts)}\n" for group in groups]
    if len(groups) > 1:
        lines.append(f"SwitchName={ROOT} Switches={_names(groups)}\n")
    return "".join(lines)


def render_block(groups: Sequence[Group]) -> str:
    """Return a topology.conf with a block per group."""
    check_names(groups)
    lines = [f"BlockName={group.name} Nodes={','.join(group.hosts)}\n" for group in groups]
    return "".join(lines) + f"BlockSizes={_base_size(groups)}\n"


def render_tree_yaml(groups: Sequence[Group]) -> str:
    """Return a topology.yaml (Slurm 25.05) with a switch per group and one above."""
    check_names(groups)
    lines = ["- topology: plink", "  cluster_default: true", "  tree:", "    switches:"]
    if len(groups) > 1:
        lines += [f'      - switch: "{ROOT}"', f'        children: "{_names(groups)}"']
    for group in groups:
        lines += [f'      - switch: "{group.name}"', f'        nodes: "{",".join(group.hosts)}"']
    return "\n".join(lines) + "\n"


def render_block_yaml(groups: Sequence[Group]) -> str:
    """Return a topology.yaml (Slurm 25.05) with a block per group."""
    check_names(groups)
    lines = ["- topology: plink", "  cluster_default: true", "  block:", "    block_sizes:"]
    lines += [f"      - {_base_size(groups)}", "    blocks:"]
    for group in groups:
        lines += [f'      - block: "{group.name}"', f'        nodes: "{",".join(group.hosts)}"']
    return "\n".join(lines) + "\n"


def check_names(groups: Sequence[Group]) -> None:
    """Raise if group or host names are not valid for switches, blocks or nodes in Slurm.

    Raises:
        WrongUseError: naming the first.
    """
    for group in groups:
        if not _NAME.fullmatch(group.name) or group.name == ROOT:
            raise WrongUseError(
                f"Slurm cannot take {brief(group.name)}, which cannot name a switch or block",
                "rename the group in the cluster file",
            )
        for name in group.hosts:
            if not _NAME.fullmatch(name):
                raise WrongUseError(
                    f"Slurm cannot take {brief(name)}, which cannot name a node",
                    "rename the host in the cluster file to its NodeName",
                )


def _names(groups: Sequence[Group]) -> str:
    return ",".join(group.name for group in groups)


def _base_size(groups: Sequence[Group]) -> int:
    return min(len(group.hosts) for group in groups)


HOSTFILE = Format(
    name="slurm",
    about="Slurm: SLURM_HOSTFILE for srun's arbitrary distribution, one line per task",
    usage="SLURM_HOSTFILE=$(realpath FILE) srun --distribution=arbitrary -n RANKS PROGRAM",
    render=render_hostfile,
)
TOPOLOGIES = (
    TopologyFormat(
        name="slurm-tree",
        about="Slurm: topology.conf, groups of hosts as switches",
        usage=_CONF_USAGE,
        render=render_tree,
    ),
    TopologyFormat(
        name="slurm-block",
        about="Slurm 24.05: topology.conf, groups of hosts as blocks",
        usage=_CONF_USAGE,
        render=render_block,
    ),
    TopologyFormat(
        name="slurm-tree-yaml",
        about="Slurm 25.05: topology.yaml, groups of hosts as switches",
        usage=_YAML_USAGE,
        render=render_tree_yaml,
    ),
    TopologyFormat(
        name="slurm-block-yaml",
        about="Slurm 25.05: topology.yaml, groups of hosts as blocks",
        usage=_YAML_USAGE,
        render=render_block_yaml,
    ),
)
