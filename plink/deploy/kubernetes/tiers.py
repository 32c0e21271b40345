"""Network tiers of a cluster (groups within groups), and a label value of each host in each.

A tier parts the hosts into domains: hosts of one domain share a switch, or whatever plays that
part. The finest tier comes first, as topology-aware schedulers number them from the node outwards.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.formats.cluster import Cluster

with lazy_imports():
    from scipy import optimize

# Kubernetes, "Labels and Selectors": the syntax of keys and values.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(
    r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
)

NUMBER = "{tier}"
_RESERVED = ("kubernetes.io", "k8s.io")


@dataclass(frozen=True)
class Tier:
    """Network tier, such as racks: the hosts in domains of near ones, each host in one domain.

    Args:
        domains: the hosts of each.
        names: what the user calls a domain, by its number; empty where plink found the groups.
    """

    domains: Sequence[Sequence[str]]
    names: Mapping[int, str] = field(default_factory=dict)


def find_tiers(cluster: Cluster) -> list[Tier]:
    """Return the network tiers in a cluster's groups, smallest domains first; none without groups.

    A host that fits nowhere is a domain by itself.

    Raises:
        WrongUseError: a domain of one tier lies in two of the next.
    """
    grouping = cluster.grouping
    left_out = set() if grouping is None else set(grouping.unmeasured)
    hosts = [name for name in cluster.names if name not in left_out]
    if grouping is None or not (grouping.method == "levels" and grouping.levels):
        if not cluster.groups:
            return []
        names = {} if grouping is not None else dict(enumerate(g.name for g in cluster.groups))
        return [Tier(_with_the_rest([group.hosts for group in cluster.groups], hosts), names)]
    tiers = [Tier(_with_the_rest(level.groups, hosts)) for level in reversed(grouping.levels)]
    for finer, wider in itertools.pairwise(tiers):
        _check_nested(finer, wider, cluster.source)
    return tiers


def check_key(key: str) -> str:
    """Return a Kubernetes label key if it is valid, or raise; `{tier}` in it stands for a number.

    Raises:
        WrongUseError: Kubernetes would refuse it, or keeps it for itself.
    """
    prefix, slash, name = key.replace(NUMBER, "0").rpartition("/")
    is_key = _NAME.fullmatch(name) is not None and (not slash or _PREFIX.fullmatch(prefix))
    if not is_key:
        raise WrongUseError(
            f"{key!r} is not a valid label key of Kubernetes",
            "write a key as example.com/rack, or rack",
        )
    if any(prefix == domain or prefix.endswith(f".{domain}") for domain in _RESERVED):
        raise WrongUseError(f"{key!r}: Kubernetes reserves label keys with the prefix {prefix}")
    return key


def assign_keys(wanted: Sequence[str], tiers: int) -> list[str]:
    """Return one label key for each network tier, finest first, with `{tier}` replaced.

    Args:
        wanted: keys, the finest first; one with `{tier}` stands for all tiers from there on.
        tiers: how many there are.
    """
    keys: list[str] = []
    for key in wanted:
        if NUMBER in key:
            keys += [key.replace(NUMBER, str(number)) for number in range(len(keys), tiers)]
            break
        keys.append(key)
    return keys[:tiers]


def assign_values(
    tier: Tier, key: str, present: Mapping[str, str], taken: set[str]
) -> dict[str, str]:
    """Return each host's label value in a tier, keeping the values that hosts already have.

    Domains keep the values that their hosts have already, so that measuring again changes only what
    moved. A new one is called what the user calls it, or `leaf-1`, `leaf-2`, ... after
    the last word of the key.

    Args:
        tier: the domains.
        key: key of the label.
        present: what hosts have that plink wrote.
        taken: values that something else wrote, which no new domain gets.
    """
    value_of = {n: name for n, name in tier.names.items() if _NAME.fullmatch(name)}
    kept = _match_values([[present.get(host) for host in hosts] for hosts in tier.domains])
    used = set(value_of.values())
    value_of |= {n: value for n, value in kept.items() if n not in value_of and value not in used}
    used = set(value_of.values())
    stem = key.rpartition("/")[2]
    fresh = (f"{stem}-{number}" for number in itertools.count(1))
    unused = (value for value in fresh if value not in used and value not in taken)
    for number in range(len(tier.domains)):
        if number not in value_of:
            value_of[number] = next(unused)
    return {host: value_of[n] for n, hosts in enumerate(tier.domains) for host in hosts}


def _match_values(present: Sequence[list[str | None]]) -> dict[int, str]:
    """Match a tier's domains with label values that their hosts have, so that few change.

    Args:
        present: what the hosts of each domain have.
    """
    values = sorted({value for hosts in present for value in hosts if value is not None})
    shared = np.array([[hosts.count(value) for value in values] for hosts in present])
    if not values:
        return {}
    domains, columns = optimize.linear_sum_assignment(shared, maximize=True)
    chosen = zip(domains.tolist(), columns.tolist(), strict=True)
    return {number: values[column] for number, column in chosen if shared[number, column]}


def _with_the_rest(groups: Sequence[Sequence[str]], hosts: Sequence[str]) -> list[list[str]]:
    grouped = {host for group in groups for host in group}
    return [*map(list, groups), *([host] for host in hosts if host not in grouped)]


def _check_nested(finer: Tier, wider: Tier, source: str) -> None:
    domain_of = {host: n for n, hosts in enumerate(wider.domains) for host in hosts}
    if any(len({domain_of.get(host) for host in hosts}) > 1 for hosts in finer.domains):
        raise WrongUseError(
            f"{source}: a group of one level overlaps two groups of the next, wider level",
            "plink group finds groups that are nested",
        )
