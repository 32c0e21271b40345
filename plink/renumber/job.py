"""Renumbering the ranks of a job from inside it, before they communicate.

All processes meet in a store. Rank 0 of the launcher hears who is on which host, has the hosts
measured if that was asked for, decides, and tells the others.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import socket
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from plink.base.errors import PlinkError, WrongUseError
from plink.base.text import format_names
from plink.engine.store import SharedStore
from plink.renumber.assignment import assign_ranks, find_misfit
from plink.renumber.echo_agent import take_part
from plink.renumber.host_identity import (
    named_host,
    own_addresses,
    own_domain,
    own_facts,
    own_names,
)
from plink.renumber.launch import Launch, Placement
from plink.renumber.meeting import Decision, MeetAgainError, Meeting, RefusedError
from plink.renumber.members import Member, find_shared_name, names_of
from plink.renumber.source import OrderSource, RenumberRequest

if TYPE_CHECKING:
    from plink.renumber.numbering import Basis

# The others wait for a measurement that long: connecting, measuring, waiting for who was lost.
_MEASURING_S = 90.0
# Seconds in which a process that measured says that it is back, after the measurement is over.
_BACK_S = 15.0
# Seconds for ranks to come of which rank 0 does not know.
_UNCOUNTED_S = 10.0


def renumber(
    store: SharedStore,
    launch: Launch,
    request: RenumberRequest,
    environment: Mapping[str, str] = os.environ,
    *,
    address: str,
) -> Placement:
    """Agree with all other processes of the job on new ranks, and return this one's.

    Args:
        store: with keys of this meeting alone.
        launch: what the launcher told this process.
        request: what the ranks are to follow, the same in all processes.
        environment: of the process.
        address: at which other hosts reach this one.

    Raises:
        RefusedError: a process found the job or the order wrong; all raise this.
        PlinkError: not all processes came in time, or rank 0 was lost.
    """
    meeting = Meeting(store, launch.rank, launch.ranks, wait_s=request.timeout_s, noun="rank")
    try:
        source = OrderSource.of(request, environment)
        own = _member(launch, request, source, environment, address)
    except PlinkError as error:
        # The others need not wait for this process.
        meeting.give_up(f"rank {launch.rank} on {socket.gethostname()}: {error}", error.hint)
    try:
        meeting.come(own)
        if launch.rank:
            wait_s = request.timeout_s + _MEASURING_S if request.is_probed else None
            decision = meeting.decision(functools.partial(take_part, number=launch.rank), wait_s)
        else:
            decision = _decide(meeting, own, request, source, environment)
    except MeetAgainError as error:
        meeting.give_up(str(error), error.hint)
    except RefusedError:
        raise
    except BaseException as error:
        if launch.rank == 0:
            # The others would wait for it until their time is up.
            with suppress(RefusedError):
                meeting.give_up(f"rank 0 failed: {type(error).__name__}: {error}")
        raise
    return _placement(launch, decision, own.local_rank)


def _placement(launch: Launch, decision: Decision, local_rank: int) -> Placement:
    by_rank = decision.hosts_in_order
    hosts = list(dict.fromkeys(by_rank))
    number_of = {name: number for number, name in enumerate(hosts)}
    host_of_rank = [number_of[name] for name in by_rank]
    rank = decision.new_ranks[launch.rank]
    host = host_of_rank[rank]
    mates = [other for other in range(launch.ranks) if host_of_rank[other] == host]
    return Placement(
        rank=rank,
        ranks=launch.ranks,
        local_rank=mates.index(rank) if launch.local_rank is None else local_rank,
        local_ranks=len(mates),
        host_rank=host,
        hosts=hosts,
        host_of_rank=host_of_rank,
        former_ranks=sorted(range(launch.ranks), key=lambda former: decision.new_ranks[former]),
        master_address=decision.master_address,
    )


def _member(
    launch: Launch,
    request: RenumberRequest,
    source: OrderSource,
    environment: Mapping[str, str],
    address: str,
) -> Member:
    given = named_host(None, environment, "PLINK_HOST")
    is_first = not launch.local_rank
    return Member(
        names=[given] if given else own_names(),
        addresses=[] if given else own_addresses(),
        master_address=address,
        master_port=0,
        digest=hashlib.sha256(
            repr((source.digest, request.mesh, request.algorithm, request.on_failure)).encode()
        ).hexdigest(),
        facts=own_facts() if request.is_probed and is_first else "",
        local_rank=launch.local_rank or 0,
        ranks=launch.ranks,
        process=f"process {os.getpid()} on {socket.gethostname()} ({secrets.token_hex(4)})",
        domain=own_domain(environment) if is_first else "",
        order=" ".join(filter(None, [source.label, request.mesh and f"for {request.mesh}"])),
    )


def _decide(
    meeting: Meeting,
    own: Member,
    request: RenumberRequest,
    source: OrderSource,
    environment: Mapping[str, str],
) -> Decision:
    """Collect all processes of the job, decide their new ranks, and tell them."""
    try:
        # What it imports takes as long as the others take to come.
        basis = source.basis(request)
    except PlinkError as error:
        meeting.refuse(str(error), error.hint)
    members = meeting.members(own)
    _refuse_disagreement(meeting, members)
    began = time.monotonic()
    try:
        names = names_of(members, basis.hosts)
        if request.is_probed:
            basis = _measure(
                meeting, members, names, basis=basis, request=request, environment=environment
            )
        decision, notes = _numbered(members, names, basis)
    except (MeetAgainError, RefusedError):
        raise
    except _LostError as error:
        if request.on_failure == "error":
            meeting.refuse(f"the hosts could not be measured: {error}", error.hint)
        say(f"warning: ranks stay as the launcher numbered them: {error}")
        decision, notes = _unchanged(members), []
    except PlinkError as error:
        meeting.refuse(str(error), error.hint)
    for note in notes:
        say(note)
    seconds = time.monotonic() - began
    hosts = list(dict.fromkeys(decision.hosts_in_order))
    say(
        f"{len(members)} ranks in order of their hosts: {format_names(hosts, 64)} ({seconds:.1f} s)"
    )
    meeting.decide(decision)
    return decision


class _LostError(PlinkError):
    """Failure to measure the hosts."""


def _refuse_disagreement(meeting: Meeting, members: Sequence[Member]) -> None:
    """Refuse the job if ranks were told different things, or two hosts share a name."""
    sizes = Counter(member.ranks for member in members)
    if set(sizes) != {len(members)}:
        # Who comes after the refusal finds no meeting place, and would not know why.
        likely_size = max(sizes, key=lambda size: (sizes[size], size))
        meeting.wait_for(range(len(members), likely_size), _UNCOUNTED_S)
        others = [
            f"rank {rank} has {member.ranks}"
            for rank, member in enumerate(members)
            if member.ranks != len(members)
        ]
        meeting.refuse(
            f"ranks differ in the world size: rank 0 has {len(members)}, {format_names(others)}",
            "the launcher tells every rank the same WORLD_SIZE",
        )
    ranks_of: dict[tuple[str, str], list[str]] = {}
    for rank, member in enumerate(members):
        ranks_of.setdefault((member.digest, member.order), []).append(str(rank))
    if len({digest for digest, _ in ranks_of}) > 1:
        said = "; ".join(
            f"{order} on rank{'s' if len(ranks) > 1 else ''} {format_names(ranks)}"
            for (_, order), ranks in ranks_of.items()
        )
        meeting.refuse(
            f"ranks disagree on the order that they are to follow: {said}",
            "give every rank the same order, mesh and on_failure, and the same file",
        )
    shared = find_shared_name(members)
    if shared is not None:
        meeting.refuse(
            f"two hosts call themselves {shared}, at addresses of which they share none",
            "name one of them by PLINK_HOST",
        )


def _numbered(
    members: Sequence[Member], names: Sequence[str], basis: Basis
) -> tuple[Decision, Sequence[str]]:
    from plink.renumber.numbering import order_hosts  # noqa: PLC0415  as the file formats

    present = list(dict.fromkeys(names))
    strange = sorted(set(present) - {host.name for host in basis.hosts})
    if strange and len(present) > 1:
        raise WrongUseError(
            f"the order is for other hosts: it does not have {format_names(strange)}",
            f"it has {format_names([host.name for host in basis.hosts])}; a host finds itself by "
            "its name, its address, or PLINK_HOST",
        )
    domain_of = {
        name: member.domain for member, name in zip(members, names, strict=True) if member.domain
    }
    ranks_on = {name: names.count(name) for name in present}
    runs, notes = order_hosts(present, basis, ranks_on=ranks_on, domain_of=domain_of)
    misfit = find_misfit(names, runs)
    if misfit is not None:
        raise WrongUseError(
            f"the order has the ranks of {misfit} apart, and not as many as the {ranks_on[misfit]} "
            "of the job there",
            "make the order for as many slots as the job has ranks on a host",
        )
    agents = assign_ranks(names, runs, [member.local_rank for member in members])
    new_ranks = [0] * len(agents)
    for rank, agent in enumerate(agents):
        new_ranks[agent] = rank
    master = members[agents[0]].master_address
    return Decision(new_ranks, list(names), master), notes


def _unchanged(members: Sequence[Member]) -> Decision:
    """Return the decision that keeps the launcher's own ranks."""
    names = names_of(members, ())
    return Decision(list(range(len(members))), names, members[0].master_address)


def _measure(
    meeting: Meeting,
    members: Sequence[Member],
    names: Sequence[str],
    *,
    basis: Basis,
    request: RenumberRequest,
    environment: Mapping[str, str],
) -> Basis:
    """Return the basis with a cluster of the job's hosts, measured now or by an earlier job.

    Raises:
        _LostError: they could not all be measured.
    """
    from plink.base.replacing import replace  # noqa: PLC0415
    from plink.renumber.kept import Kept  # noqa: PLC0415  only here is anything measured
    from plink.renumber.measuring import (  # noqa: PLC0415
        group_hosts,
        is_lacking,
        measured,
        still_holds,
    )

    if len(set(names)) < 2:
        return replace(basis, cluster=None)
    _, _, folder = (request.order or "").partition(":")
    kept = Kept.of(folder, environment, members, names)
    cluster = kept.read()
    try:
        if cluster is not None and not is_lacking(members, names, cluster):
            if still_holds(members, names, cluster, tell=meeting.ask):
                meeting.all_are_back(_BACK_S)
                say(f"{kept.file}: still holds, by a few pairs measured again")
                return replace(basis, cluster=cluster)
            meeting.all_are_back(_BACK_S)
            say(f"{kept.file}: no longer describes the network, which is measured anew")
        cluster = measured(members, names, None, tell=meeting.ask, say=say)
        meeting.all_are_back(_BACK_S)
    except RefusedError:
        raise
    except PlinkError as error:
        raise _LostError(str(error), error.hint) from None
    if is_lacking(members, names, cluster):
        lost = sorted(set(names) - set(cluster.names))
        raise _LostError(
            f"not all hosts could be measured{f': {format_names(lost)}' if lost else ''}"
        )
    cluster = group_hosts(cluster, say)
    kept.write(cluster, say)
    return replace(basis, cluster=cluster)


def say(text: str) -> None:
    """Print a message for the user on standard error."""
    print(f"plink: {text}", file=sys.stderr, flush=True)
