"""Switch topologies written by schedulers and network discovery tools, or fetched from topograph.

- Slurm's topology.conf and topology.yaml (25.05), trees of switches and blocks, which topograph
  writes for Slurm, too.
- `scontrol show topology`, and what Azure's `azslurm show_topology --format json` prints.
- `aws ec2 describe-instance-topology`: `Instances`, each with `NetworkNodes`, the widest first.
- topograph's graph engine: `instances`, each with `id` and `network_layers`, the nearest first.
- `kubectl get nodes -o json`, where nodes have the labels that topograph or their cloud gives them.

`topograph:URL` asks topograph's API: `GET /v1/topology?uid=ID` answers 200 with the topology, and
202 while it is being discovered; ID is what `POST /v1/generate` answered. `topograph:FILE` is its
output.

Input that cannot be used raises `HostListError`, which names the place.
"""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, NamedTuple

from plink.probes.errors import HostListError, clean, name_some
from plink.probes.hosts.hostlist import MAX_NAMES, ListedHost, check_hosts, check_name
from plink.probes.hosts.listing import at, entries, objects, parse_listing_json
from plink.probes.hosts.slurm import expand_names, is_topology_conf, parse_topology_conf
from plink.probes.inventories.inventory import TIMEOUT_S, InventoryHosts, ReadFile, parse_yaml
from plink.probes.json_parsing import parse_json

_HINT = "plink reads topology.conf and topology.yaml of Slurm, and topograph's output"
_YAML = re.compile(
    r"^[ \t]*(?:-\s+topology|topology)[ \t]*:|^[ \t]*(?:tree|block)[ \t]*:[ \t]*\r?$", re.MULTILINE
)
_MOST_DEEP = 32

# Labels of a node, of the widest switch first (topograph's reference of node labels; the clouds').
_TIER = re.compile(r"fabric\.topograph\.run/tier-([0-9]{1,3})")
_NVIDIA = "network.topology.nvidia.com"
# The NVLink domain of a node's GPUs, by NVIDIA's device plugin or by topograph.
_DOMAINS = ("nvidia.com/gpu.clique", "accelerator.topograph.run/domain", f"{_NVIDIA}/accelerator")
_FAMILIES: Sequence[Sequence[str]] = (
    [f"{_NVIDIA}/{name}" for name in ("datacenter", "core", "spine", "block", "leaf")],
    [f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3)],
    [f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock", "host")],
    ["accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain"],
    [f"{_NVIDIA}/accelerator"],
    [
        f"oci.oraclecloud.com/rdma.{name}_id"
        for name in ("hpc_island", "network_block", "local_block")
    ],
    _DOMAINS[:1],
)


@dataclass(frozen=True)
class Topology:
    """Switches or blocks above every host, by a scheduler or discovery tool; NVLink domains too.

    Args:
        paths: names of the switches or blocks above each host, the widest first.
        doubles: hosts that the file has below two switches, with the names of both.
        domains: NVLink domain of a host: its block in topology.conf, or a label of its node.
    """

    source: str
    paths: Mapping[str, tuple[str, ...]]
    doubles: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)


def parse_topology(content: bytes, source: str) -> Topology | None:
    """Parse a switch topology; return None if the content is in no known format."""
    reader = _choose_reader(content)
    if reader is None:
        return None
    read, data = reader
    paths: dict[str, tuple[str, ...]] = {}
    doubles: dict[str, tuple[str, str]] = {}
    domains: dict[str, str] = {}
    for host, path, domain in read(data, source):
        check_name(host, source)
        if paths.setdefault(host, path) != path:
            doubles.setdefault(host, (paths[host][-1], path[-1]))
        elif domain is not None:
            domains[host] = domain
        if len(paths) > MAX_NAMES:
            raise HostListError(f"{source}: names more than {MAX_NAMES:,} hosts")
    if not paths:
        raise HostListError(f"{source}: no switch or block of the topology has hosts", _HINT)
    return Topology(source, paths, doubles, domains)


class _Placed(NamedTuple):
    """Host, the switches or blocks above it, the widest first, and its NVLink domain or None."""

    host: str
    path: tuple[str, ...]
    domain: str | None = None


Paths = Iterator[_Placed]


def _choose_reader(content: bytes) -> tuple[Callable[[Any, str], Paths], Any] | None:
    """Return the parser for a topology's content, with the parser's input; None if unknown."""
    text = content.decode("utf-8-sig", errors="replace")
    if text.lstrip().startswith(("{", "[")):
        try:
            data = parse_json(text.encode())
        except (ValueError, RecursionError):
            return None
        return _json_reader(data)
    if is_topology_conf(text):
        return _read_topology_conf, text
    return (_read_topology_yaml, text) if _YAML.search(text) else None


def _json_reader(data: Any) -> tuple[Callable[[Any, str], Paths], Any] | None:
    nodes = objects(at(data, "items"))
    if any(at(each, "network_layers") is not None for each in entries(at(data, "instances"))):
        return _read_graph, data
    if any(at(each, "NetworkNodes") is not None for each in entries(at(data, "Instances"))):
        return _read_ec2, data
    if objects(data) and all("nodelist" in each for each in objects(data)):
        return _read_azslurm, data
    is_nodes = any(at(node, "kind") == "Node" for node in nodes)
    if is_nodes or any(_tier_values(_text_labels(node)) for node in nodes):
        return _read_nodes, nodes
    return None


def _read_topology_conf(text: str, source: str) -> Paths:
    conf = parse_topology_conf(text, source)
    for name, (_, hosts) in conf.leaves.items():
        domain = name if name in conf.blocks else None
        path = _find_path(name, conf.parents, source)
        yield from (_Placed(host, path, domain) for host in hosts)


def _read_topology_yaml(text: str, source: str) -> Paths:
    data = parse_yaml(text, source, _HINT)
    topologies = objects(data) or objects([data])
    seen: set[str] = set()
    keys = ("cluster_default", "clusterDefault")
    # The default topology first.
    for topology in sorted(
        topologies, key=lambda each: all(each.get(key) is not True for key in keys)
    ):
        for placed in _read_yaml_topology(topology, source):
            if placed.host not in seen:
                seen.add(placed.host)
                yield placed


def _read_yaml_topology(topology: dict[str, Any], source: str) -> Paths:
    switches = objects(at(topology, "tree", "switches"))
    parents: dict[str, str] = {}
    for switch in switches:
        for child in expand_names(str(switch.get("children") or ""), source):
            parents.setdefault(child, str(switch.get("switch")))
    named = [(switch.get("switch"), switch.get("nodes")) for switch in switches]
    blocks = objects(at(topology, "block", "blocks")) if not switches else []
    for name, nodes in [*named, *((block.get("block"), block.get("nodes")) for block in blocks)]:
        if isinstance(nodes, str) and nodes:
            path = _find_path(str(name), parents, source)
            yield from (_Placed(host, path) for host in expand_names(nodes, source))


def _find_path(switch: str, parents: Mapping[str, str], source: str) -> tuple[str, ...]:
    path = [switch]
    while path[0] in parents:
        path.insert(0, parents[path[0]])
        if len(path) > _MOST_DEEP:
            raise HostListError(f"{source}: the switch {clean(switch)!r} is below itself")
    return tuple(path)


def _read_graph(data: Any, source: str) -> Paths:
    for name, layers in _read_instances(data, ("instances", "id", "network_layers"), source):
        yield _Placed(name, layers[::-1])


def _read_ec2(data: Any, source: str) -> Paths:
    # A network node that stands below two others is placed where it comes first.
    first: dict[str, tuple[str, ...]] = {}
    for name, layers in _read_instances(data, ("Instances", "InstanceId", "NetworkNodes"), source):
        yield _Placed(name, first.setdefault(layers[-1], layers))


def _read_instances(
    data: Any, keys: tuple[str, str, str], source: str
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield names and layers of listed instances that have layers, as they stand there."""
    items, id_key, layers_key = keys
    for place, instance in enumerate(entries(at(data, items))):
        name, layers = at(instance, id_key), at(instance, layers_key)
        if layers is None and layers_key == "NetworkNodes":
            continue  # EC2 knows no topology of instances of this type
        is_known = isinstance(name, str) and isinstance(layers, list)
        if not is_known or not all(isinstance(layer, str) for layer in layers):
            message = f"{source}: {items}[{place}] has no {id_key}, or no {layers_key}"
            raise HostListError(message, _HINT)
        if layers:
            yield name, tuple(layers)


def _read_azslurm(data: Any, source: str) -> Paths:
    for place, block in enumerate(objects(data)):
        name, nodes = block.get("blockname", block.get("switchname")), block["nodelist"]
        names = expand_names(nodes, source) if isinstance(nodes, str) else entries(nodes)
        if not all(isinstance(word, str) for word in (name, *names)):
            raise HostListError(f"{source}: block [{place}] has no name, or no nodelist", _HINT)
        yield from (_Placed(node, (str(name),)) for node in names)


def _read_nodes(nodes: Sequence[Any], source: str) -> Paths:
    known: dict[str, Any] = {}
    for node in nodes:
        name = at(node, "metadata", "name")
        if not isinstance(name, str):
            raise HostListError(f"{source}: a Kubernetes node has no name", _HINT)
        labels = known[name] = _text_labels(node)
        if path := _tier_values(labels):
            domain = next((labels[key] for key in _DOMAINS if key in labels), None)
            yield _Placed(name, path, domain)
    if not any(map(_tier_values, known.values())):
        names = sorted({key for labels in known.values() for key in labels})
        hint = f"there are: {name_some(names)}"
        raise HostListError(f"{source}: no node has a topology label that plink knows", hint)


def _text_labels(node: Any) -> dict[str, str]:
    """Return a Kubernetes node's labels that have a value."""
    labels = at(node, "metadata", "labels")
    given = labels.items() if isinstance(labels, dict) else ()
    return {key: value for key, value in given if isinstance(value, str) and value}


def _tier_values(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return a node's topology labels' values, the widest switch first; empty without any."""
    numbered = {int(match[1]): key for key in labels if (match := _TIER.fullmatch(key))}
    tiers = [numbered[number] for number in sorted(numbered, reverse=True)]
    for family in (tiers, *_FAMILIES):
        path = tuple(labels[key] for key in family if key in labels)
        if path:
            return path
    return ()


FORM = "topograph:URL_OR_FILE"
PREFIX = "topograph:"
_HINT_TOPOGRAPH = "write topograph:http://localhost:49021/v1/topology?uid=ID, or topograph:FILE"
_MOST_BYTES = 64 << 20
_PAUSE_S = 1.0


def read_topograph(where: str, read_file: ReadFile) -> InventoryHosts:
    """Return all hosts of topograph's topology, with those of a switch adjacent."""
    topology, content = read_topology(where, read_file)
    hosts = [ListedHost(name, place=topology.source) for name in topology.paths]
    return InventoryHosts(check_hosts(hosts, topology.source), content=content)


def read_topology(where: str, read_file: ReadFile) -> tuple[Topology, bytes]:
    """Return the topology that topograph's URL or file holds, and the text it was parsed from."""
    place = clean(f"{PREFIX}{where}")
    is_url = where.startswith(("http://", "https://"))
    content = _fetch_topology(where, place) if is_url else read_file(where)
    topology = parse_topology(content, place)
    if topology is None:
        if content.lstrip().startswith((b"{", b"[")):
            parse_listing_json(content, place, _HINT_TOPOGRAPH)
        raise HostListError(
            f"{place}: is not a topology in a format that plink knows", _HINT_TOPOGRAPH
        )
    return topology, content


def _fetch_topology(url: str, place: str) -> bytes:
    """Fetch a topology from a server, polling until it is complete."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
                status: int = answer.status
                content: bytes = answer.read(_MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            text = clean(error.read(1000).decode(errors="replace").strip() or str(error.reason))
            raise HostListError(
                f"{place}: the server answers {error.code}: {text}", _HINT_TOPOGRAPH
            ) from None
        except (OSError, ValueError, HTTPException) as error:
            reason = clean(str(getattr(error, "reason", error)))
            raise HostListError(
                f"{place}: the server cannot be reached ({reason})", _HINT_TOPOGRAPH
            ) from None
        if len(content) > _MOST_BYTES:
            raise HostListError(
                f"{place}: the server's answer is larger than {_MOST_BYTES >> 20} MiB"
            )
        if status != HTTPStatus.ACCEPTED:
            return content
        if time.monotonic() > deadline:
            message = f"{place}: the server has no topology after {TIMEOUT_S:g} s"
            raise HostListError(message, "try again later")
        time.sleep(_PAUSE_S)
