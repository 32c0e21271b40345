"""Orders that a bench compares, as `given,plink,random:5,spread:12,order.json,file:names.txt`."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from plink.base.errors import WrongUseError
from plink.base.text import brief, format_count
from plink.solvers.slots.layout import RankLayout

MAX_RANDOM = 1000

_EXPECTED = (
    "orders are given, plink, random, random:5, spread:12, an order file (x.json) and "
    "file:names.txt"
)


@dataclass(frozen=True)
class NamedOrder:
    """Order of a job's ranks with its label in the results: rank r is on host `order[r]`.

    Several ranks may be on one host, and some hosts may have none.
    """

    label: str
    order: tuple[int, ...]


@dataclass(frozen=True)
class Sources:
    """Sources of the orders.

    Args:
        names: the cluster's hosts, in the given order.
        layout: how ranks fill them.
        seed: decides the random orders.
        solve: plink's own order of the cluster: the host of every rank.
        spread: so many orders, spread over the range of what is predicted; of all hosts, with one
            rank each.
        read_order: the host names in an order file, once for each rank where these are apart.
        read_names: the host names in a plain list.
    """

    names: Sequence[str]
    layout: RankLayout
    seed: int
    solve: Callable[[], Sequence[int]]
    spread: Callable[[int], Sequence[Sequence[int]]]
    read_order: Callable[[str], Sequence[str]]
    read_names: Callable[[str], Sequence[str]]


def resolve_orders(text: str, sources: Sources) -> list[NamedOrder]:
    """Return the orders that `text` names, in its sequence.

    Raises:
        WrongUseError: a word that names no order, an order asked for twice, or a list that is not
            an order of the cluster's hosts.
    """
    resolved: list[NamedOrder] = []
    for word in text.split(","):
        resolved += _resolve(word.strip(), sources)
    seen: set[str] = set()
    for entry in resolved:
        if entry.label == "random-1" and entry.label in seen:
            raise WrongUseError(
                "random orders are asked for twice, and the seed decides the same ones",
                "ask for all of them at once, such as random:5",
            )
        if entry.label in seen:
            raise WrongUseError(f"the order {entry.label} is asked for twice")
        seen.add(entry.label)
    return resolved


def as_permutation(
    listed: Sequence[str], names: Sequence[str], place: str, count: int | None = None
) -> tuple[int, ...]:
    """Return the listed hosts as indices into `names`; `place` names the list in errors.

    Args:
        listed: all of them, or `count`.
        names: of all hosts.
        place: what errors call the list.
        count: how many must be listed, if not all.

    Raises:
        WrongUseError: a host is unknown, listed twice or missing, or another number is listed.
    """
    index_of = {name: index for index, name in enumerate(names)}
    order: list[int] = []
    for name in listed:
        index = index_of.get(name)
        if index is None:
            raise WrongUseError(f"{place}: {name} is not a host of the cluster file")
        if index in order:
            raise WrongUseError(f"{place}: {name} is listed twice")
        order.append(index)
    missing = [name for index, name in enumerate(names) if index not in order]
    if missing and count is None:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise WrongUseError(f"{place}: {missing[0]}{more} of the cluster file is not listed")
    if count is not None and len(order) != count:
        raise WrongUseError(f"{place}: lists {format_count(len(order), 'host')}, expected {count}")
    return tuple(order)


def names_in(content: str) -> list[str]:
    """Return the first word of every line that is neither empty nor a comment."""
    stripped = (line.split("#", 1)[0].split() for line in content.splitlines())
    return [words[0] for words in stripped if words]


def _resolve(word: str, sources: Sources) -> list[NamedOrder]:
    layout = sources.layout
    if word == "given":
        return [_order_from_hosts(word, range(layout.hosts), layout)]
    if word == "plink":
        return [NamedOrder(word, tuple(sources.solve()))]
    match = re.fullmatch(r"(random|spread)(?::(\d+))?", word, re.ASCII)
    if match is not None:
        digits = (match[2] or "1").lstrip("0")
        # Python itself refuses to read numbers of thousands of digits.
        if not digits or len(digits) > len(str(MAX_RANDOM)) or int(digits) > MAX_RANDOM:
            raise WrongUseError(f"{brief(word)}: ask for 1 to {MAX_RANDOM} {match[1]} orders")
        count = int(digits)
        if match[1] == "random":
            generator, hosts = random.Random(sources.seed), range(layout.hosts)
            return [
                _order_from_hosts(f"random-{number}", generator.sample(hosts, len(hosts)), layout)
                for number in range(1, count + 1)
            ]
        if layout.ranks != layout.hosts or not layout.takes_all_hosts:
            raise WrongUseError(
                "spread orders are of all hosts, with one rank each",
                "ask for random ones, such as random:12",
            )
        return [
            NamedOrder(f"spread-{number}", tuple(order))
            for number, order in enumerate(sources.spread(count), start=1)
        ]
    if word.startswith("file:"):
        path = word.removeprefix("file:")
        return [_order_from_names(path, sources.read_names(path), sources)]
    if word.endswith((".json", ".json.gz")):
        return [_order_from_names(word, sources.read_order(word), sources)]
    raise WrongUseError(f"{word!r} is not an order", _EXPECTED)


def _order_from_names(path: str, listed: Sequence[str], sources: Sources) -> NamedOrder:
    label = PurePath(path).name.split(".")[0] or path
    layout, names = sources.layout, sources.names
    if len(listed) == layout.ranks > len(set(listed)):
        return NamedOrder(label, _apart(listed, sources, path))
    count = None if layout.takes_all_hosts else layout.fewest_hosts
    if count is None and len(listed) < len(names) and set(listed) < set(names):
        raise WrongUseError(
            f"{path}: lists {format_count(len(listed), 'host')} of {len(names)}",
            "{ranks=} compares orders of so many",
            arguments={"ranks": len(listed)},
        )
    hosts = as_permutation(listed, names, path, count)
    others = [host for host in range(len(names)) if host not in hosts]
    return _order_from_hosts(label, [*hosts, *others], layout)


def _apart(listed: Sequence[str], sources: Sources, path: str) -> tuple[int, ...]:
    """Return the host of every rank, of a list that names it for each."""
    index_of = {name: index for index, name in enumerate(sources.names)}
    for name, ranks in Counter(listed).items():
        if name not in index_of:
            raise WrongUseError(f"{path}: {name} is not a host of the cluster file")
        if ranks > sources.layout.slots[index_of[name]]:
            raise WrongUseError(
                f"{path}: {name} has {format_count(ranks, 'rank')}, more than slots"
            )
    return tuple(index_of[name] for name in listed)


def _order_from_hosts(label: str, hosts: Sequence[int], layout: RankLayout) -> NamedOrder:
    return NamedOrder(label, tuple(layout.placement(hosts).tolist()))
