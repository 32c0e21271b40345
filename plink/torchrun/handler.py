"""Rendezvous handler for torchrun that runs PyTorch's c10d rendezvous and renumbers its hosts."""

from __future__ import annotations

import functools
import os
import socket
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.elastic.rendezvous import (
    RendezvousConnectionError,
    RendezvousError,
    RendezvousHandler,
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    RendezvousTimeoutError,
)
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import create_backend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler

from plink.base.errors import PlinkError, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.text import format_names
from plink.engine.interfaces import group_addresses
from plink.engine.store import C10dStore
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.renumber.echo_agent import take_part
from plink.renumber.host_identity import own_addresses, own_facts, own_names
from plink.renumber.meeting import Decision, MeetAgainError, Meeting
from plink.renumber.members import Member, differing_files, names_of
from plink.renumber.numbering import numbered
from plink.torch.backend import MEMBERS_VARIABLE
from plink.torchrun.knowledge import Knowledge
from plink.torchrun.settings import Settings, read_settings

with lazy_imports():
    # It takes as long as a round: only who measures waits for it.
    from plink.renumber import measuring

NAME = "plink"

# Agents come to a meeting within a second or so of each other; PyTorch gives up one that is silent
# for 15 s.
_WAIT_S = 20.0
_JOIN_S = 600
# With it, workers of agents that count attempts differently would never meet, and an agent that
# joins later would wait in vain for the address of the store.
_SHARED_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


def handler(params: RendezvousParameters) -> PlinkRendezvousHandler:
    """Create the rendezvous handler of this host's torchrun agent from its parameters.

    Raises:
        WrongUseError: `--rdzv-conf` asks for what cannot be, or a file cannot be read.
        PlinkError: nothing answers at the endpoint.
    """
    settings = read_settings(params.config, os.environ)
    os.environ[_SHARED_STORE] = "1"
    os.environ.setdefault(MEMBERS_VARIABLE, "1")
    try:
        backend, store = create_backend(params)
        inner = create_handler(store, backend, params)
        join_s = params.get_as_int("join_timeout", _JOIN_S) or _JOIN_S
    except ValueError as error:
        why_not = str(error).rstrip(".")
        raise WrongUseError(f"--rdzv-conf or --rdzv-endpoint is not valid: {why_not}") from None
    except RendezvousConnectionError as error:
        raise PlinkError(
            f"no rendezvous store answers at {params.endpoint or 'localhost'} "
            f"({error.__cause__ or error})",
            "one agent runs on the host that --rdzv-endpoint names and holds the store; "
            "is_host=1 marks the agent that does not recognise this itself",
        ) from None
    return PlinkRendezvousHandler(inner, store, settings, params.local_addr, join_s)


class PlinkRendezvousHandler(RendezvousHandler):
    """Rendezvous handler of one torchrun agent: PyTorch's, with ranks renumbered.

    Args:
        inner: PyTorch's.
        store: store of the job.
        settings: what was asked for.
        local_address: at which other hosts reach this one; None to look.
        join_s: how long a round may take to come about, with all meetings that come to nothing.
    """

    def __init__(
        self,
        inner: RendezvousHandler,
        store: Store,
        settings: Settings,
        local_address: str | None = None,
        join_s: float = _JOIN_S,
    ) -> None:
        self._inner = inner
        self._store = store
        self._settings = settings
        run = PrefixStore(f"plink.torchrun.{inner.get_run_id()}", store)
        self._knowledge = Knowledge(C10dStore(run))
        self._local_address = local_address
        self._join_s = join_s

    def get_backend(self) -> str:
        """Return the backend's name, as `--rdzv-backend` spells it."""
        return NAME

    @property
    def use_agent_store(self) -> bool:
        """Whether workers reuse the agents' store: False, as rank 0 hosts another for them."""
        return False

    def next_rendezvous(self) -> RendezvousInfo:
        """Wait for the next rendezvous of all agents, and return this one's rank in plink's order.

        Raises:
            RendezvousError: as PyTorch's.
        """
        deadline = time.monotonic() + self._join_s
        while True:
            try:
                info = self._join()
                decision = self._agree(info)
            except RendezvousError:
                raise
            except (MeetAgainError, RuntimeError) as error:
                # An agent was lost before PyTorch's own rounds had told all what they need, too.
                if time.monotonic() > deadline:
                    raise RendezvousTimeoutError(f"plink: {error}") from None
                say(f"the agents repeat the rendezvous: {error}")
                continue
            rank = decision.new_ranks[info.rank]
            if rank == 0:
                say(f"agents in rank order: {decision.in_order}")
            master = RendezvousStoreInfo(decision.master_address, decision.master_port)
            # An agent that PyTorch gave up meanwhile is not in its count any more.
            return RendezvousInfo(info.store, rank, len(decision.new_ranks), master)

    def is_closed(self) -> bool:
        """Return whether the rendezvous is closed, so that no agent can join again."""
        return self._inner.is_closed()

    def set_closed(self) -> None:
        """Close the rendezvous, so that no agent can join again."""
        self._inner.set_closed()  # type: ignore[no-untyped-call]

    def num_nodes_waiting(self) -> int:
        """Return how many agents wait to join at the next rendezvous."""
        return self._inner.num_nodes_waiting()

    def get_run_id(self) -> str:
        """Return the run's identifier, as `--rdzv-id` gives it."""
        return self._inner.get_run_id()

    def shutdown(self) -> bool:
        """Leave and close the rendezvous; return whether that succeeded."""
        return self._inner.shutdown()

    def _join(self) -> RendezvousInfo:
        """Join PyTorch's rendezvous, with a time limit of 20 s if its rank 0 is lost meanwhile."""
        before = cast("Any", self._store).timeout
        self._store.set_timeout(timedelta(seconds=_WAIT_S))
        try:
            return self._inner.next_rendezvous()
        finally:
            self._store.set_timeout(before)

    def _agree(self, info: RendezvousInfo) -> Decision:
        store = C10dStore(PrefixStore("plink", info.store))
        meeting = Meeting(store, info.rank, info.world_size, wait_s=_WAIT_S)
        own = self._member(info.store)
        if info.rank:
            meeting.come(own)
            return meeting.decision(functools.partial(take_part, number=info.rank))
        try:
            decision = self._decide(meeting, own)
        except MeetAgainError as error:
            meeting.decide(Decision(again=str(error)))
            raise
        meeting.decide(decision)
        return decision

    def _decide(self, meeting: Meeting, own: Member) -> Decision:
        members = meeting.members(own)
        settings = self._settings
        basis = settings.basis
        if settings.is_probed:
            try:
                known = self._knowledge.newest(basis.cluster)
            except (PlinkError, ValueError) as error:
                say(f"{error}: the hosts are measured again")
                known = basis.cluster
            basis = replace(basis, cluster=self._measure(meeting, members, known))
        elif others := differing_files(members):
            say(
                f"the files of {format_names(others)} differ from those of "
                f"{members[0].name}, which are used"
            )
        found = numbered(members, basis)
        for note in found.notes:
            say(note)
        master = members[found.agents[0]]
        return Decision(
            new_ranks=found.new_ranks,
            hosts=found.hosts,
            master_address=master.master_address,
            master_port=master.master_port,
        )

    def _measure(
        self, meeting: Meeting, members: Sequence[Member], known: Cluster | None
    ) -> Cluster | None:
        """Return readings between the agents' hosts, after measuring hosts that have none."""
        names = names_of(members, () if known is None else known.hosts)
        if not measuring.is_lacking(members, names, known):
            return known
        try:
            cluster = measuring.measured(members, names, known, tell=meeting.ask, say=say)
        except PlinkError as error:
            say(f"{error}: hosts without measurements come last")
            meeting.all_are_back()
            return known
        self._knowledge.renew(cluster)
        if self._settings.keep is not None:
            try:
                cluster_file.write_cluster(self._settings.keep, cluster)
            except PlinkError as error:
                say(str(error))
        meeting.all_are_back()
        return cluster

    def _member(self, store: Store) -> Member:
        settings = self._settings
        with socket.create_server(("", 0)) as reserved:
            port = reserved.getsockname()[1]
        return Member(
            names=[settings.host] if settings.host else own_names(),
            addresses=[] if settings.host else own_addresses(),
            master_address=self._local_address or group_addresses(store, os.environ)[1][0],
            master_port=port,
            digest=settings.digest,
            facts=own_facts() if settings.is_probed else "",
        )


def say(text: str) -> None:
    """Print a message on standard error, regardless of torchrun's log level."""
    print(f"plink: {text}", file=sys.stderr, flush=True)
