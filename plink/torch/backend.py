"""Creation of a group from what `init_process_group` and `new_group` hand over."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from torch.distributed import DistBackendError, ProcessGroupGloo
from torch.distributed.distributed_c10d import PrefixStore, Store, default_pg_timeout

from plink.autotune.protocol.handshake import FILE_VARIABLE, SECRET_VARIABLE, secret_of
from plink.autotune.ranks.rank import TunedRank
from plink.autotune.ranks.settings import Settings, settings_of
from plink.base.arguments import check_flag, check_instance, check_integer
from plink.base.errors import PlinkError, WrongUseError
from plink.engine import C10dStore, Engine, EngineError, Options
from plink.engine.interfaces import group_addresses
from plink.torch.forests import Agreed, PlanChoice
from plink.torch.gloo import LateGloo
from plink.torch.group import PlinkGroup
from plink.torch.named.options import Options as GroupOptions
from plink.torch.named.running import machine_of
from plink.torch.named.timelines import recorder_of
from plink.transport.tls import Tls, tls_of

NAME = "plink"

PLAN_VARIABLE = "PLINK_PLAN"
CONGESTION_VARIABLE = "PLINK_CONGESTION_CONTROL"
MEMORY_VARIABLE = "PLINK_SHARED_MEMORY"
MEMBERS_VARIABLE = "PLINK_MEMBERS_CHANGE"

_LOG = logging.getLogger("plink.autotune")

# The engine's own limit.
_LONGEST_TIMEOUT_S = 999_999.0


@dataclass(frozen=True)
class _Asked:
    """Fields of PyTorch's `_DistributedBackendOptions` that plink reads."""

    store: Store
    group_rank: int
    group_size: int
    timeout: timedelta
    global_ranks_in_group: Sequence[int] = ()
    members_change: bool = False


def create(
    store: Store,
    rank: int,
    world_size: int,
    timeout: timedelta = default_pg_timeout,
    options: Options | None = None,
    *,
    members_change: bool = False,
) -> PlinkGroup:
    """Create a process group beside PyTorch's own, for programs that manage groups themselves.

    Args:
        store: where the ranks meet, with keys of this group alone; a further group of as many
            ranks may meet there later.
        rank: this process's.
        world_size: the number of ranks.
        timeout: of set-up and of collectives.
        options: None for the defaults.
        members_change: the plan may be for other ranks: those that are not there are taken out of
            it, those that it does not have are added.

    Raises:
        DistBackendError: the ranks could not be connected, or the plan is not for them.
        WrongUseError: an argument cannot be.
    """
    check_instance("store", store, Store, "a torch.distributed.Store")
    check_integer("world_size", world_size, 1)
    check_integer("rank", rank, 0, world_size - 1)
    check_instance("timeout", timeout, timedelta, "a datetime.timedelta")
    check_flag("members_change", members_change)
    asked = _Asked(store, rank, world_size, timeout, members_change=members_change)
    return create_asked(asked, options)


def create_asked(asked: Any, options: Options | None) -> PlinkGroup:
    """Create a connected process group from the options that PyTorch hands over.

    Args:
        asked: the `_DistributedBackendOptions` of PyTorch.
        options: what the caller gave as `pg_options`; None for the defaults.

    Raises:
        DistBackendError: as `create`.
    """
    # The store may outlive a group, and a process the one that had its rank before: what a further
    # group puts there has other keys, which ranks agree on if each has come as often as the others.
    times = asked.store.add(f"plink/times/{asked.group_rank}", 1)
    store = PrefixStore(f"plink/{times}", asked.store)
    try:
        if not isinstance(options, Options | None):
            raise WrongUseError(
                f"pg_options are {type(options).__name__}, expected plink.torch.Options"
            )
        return _create(asked, store, options or Options())
    except PlinkError as error:
        said = error.hint or (_restart_hint(os.environ) if isinstance(error, EngineError) else None)
        hint = f" ({said})" if said else ""
        raise DistBackendError(f"plink: {error}{hint}") from None


def _restart_hint(environment: Mapping[str, str]) -> str | None:
    """Return a hint if torchrun may have restarted workers with an earlier store, else None.

    They share the store of an earlier attempt, whose number hosts may count differently.
    """
    if (
        environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        or environment.get("TORCHELASTIC_MAX_RESTARTS", "0") == "0"
    ):
        return None
    return (
        "has torchrun restarted workers? Then set TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 on all "
        "hosts, so that every attempt has a store of its own"
    )


def _create(asked: Any, store: Store, options: Options) -> PlinkGroup:
    rank, ranks, timeout = asked.group_rank, asked.group_size, asked.timeout
    interfaces, addresses = group_addresses(asked.store, os.environ)
    options = _complete_options(options, addresses, timeout, asked.global_ranks_in_group)
    control = options.control if isinstance(options, GroupOptions) else None
    engine = tuned = machine = recorder = None
    is_cut = False
    if ranks > 1:
        meeting = C10dStore(store)
        # PyTorch hands over no ranks for the group of all of them.
        is_part = bool(asked.global_ranks_in_group)
        plan = os.environ.get(PLAN_VARIABLE) or None
        is_managed = getattr(asked, "members_change", False)
        wanted = None if is_part or is_managed else settings_of(os.environ, timeout.total_seconds())
        choice = PlanChoice(
            rank,
            ranks,
            plan,
            is_part=is_part,
            addresses=options.addresses,
            members_change=is_managed or _wants(MEMBERS_VARIABLE, "0"),
            tuned=wanted,
            control=control,
        )
        engine = Engine(rank, ranks, meeting, choice, options)
        agreed = choice.agreed
        is_cut = agreed.is_cut
        if control is not None:
            machine = machine_of(
                control, agreed.forest, rank, is_deterministic=options.deterministic
            )
            recorder = recorder_of(control, store, rank, ranks, is_part=is_part)
        if agreed.tuned is not None:
            tuned = _start_tuning(engine, rank, agreed, agreed.tuned, options.certificates(rank))
    elif control is not None:
        machine = machine_of(control, None, rank, is_deterministic=options.deterministic)
        recorder = recorder_of(control, store, rank, ranks, is_part=False)
    gloo = LateGloo(
        functools.partial(
            _gloo, rank=rank, ranks=ranks, interfaces=interfaces, address=options.addresses[0]
        ),
        engine,
        PrefixStore("gloo", store),
        timeout,
    )
    return PlinkGroup(
        store,
        rank,
        ranks,
        gloo,
        engine,
        tuned=tuned,
        is_cut=is_cut,
        machine=machine,
        in_flight=options.in_flight,
        recorder=recorder,
    )


def _start_tuning(
    engine: Engine, rank: int, agreed: Agreed, settings: Settings, tls: Tls | None
) -> TunedRank:
    secret = None
    try:
        secret = secret_of(os.environ)
        if secret is None:
            raise WrongUseError(f"rank {rank} has neither {SECRET_VARIABLE} nor {FILE_VARIABLE}")
    except WrongUseError as error:
        _LOG.warning("training goes on without the autotuner: %s", error)
    return TunedRank(
        engine,
        rank,
        agreed.forest,
        placing=agreed.placing,
        settings=settings,
        secret=secret,
        tls=tls,
    )


def _complete_options(
    options: Options, addresses: list[str], timeout: timedelta, global_ranks: Sequence[int]
) -> Options:
    timeout_s = min(timeout.total_seconds(), _LONGEST_TIMEOUT_S)
    return replace(
        options,
        addresses=options.addresses or addresses,
        shared_memory=options.shared_memory and _wants(MEMORY_VARIABLE, "1"),
        tls=_tls(options.tls or tls_of(os.environ), global_ranks),
        congestion_control=options.congestion_control or os.environ.get(CONGESTION_VARIABLE),
        setup_timeout_s=timeout_s,
        stall_timeout_s=timeout_s,
        silence_timeout_s=min(options.silence_timeout_s, timeout_s),
    )


def _tls(tls: Tls | str | None, global_ranks: Sequence[int]) -> Tls | None:
    """Return the TLS files with the group's ranks named by their numbers in the job, or None.

    PyTorch names no ranks for the group of all of them.
    """
    if isinstance(tls, str):
        tls = Tls.of_folder(tls)
    return None if tls is None else replace(tls, names=tuple(global_ranks))


def _wants(variable: str, usual: str) -> bool:
    said = os.environ.get(variable) or usual
    if said not in ("0", "1"):
        raise WrongUseError(f"{variable} is {said}, expected 0 or 1")
    return said == "1"


def _gloo(
    store: Store, timeout: timedelta, *, rank: int, ranks: int, interfaces: list[str], address: str
) -> ProcessGroupGloo:
    options = ProcessGroupGloo._Options()  # type: ignore[attr-defined]
    # Connected at once: of a rank that is lost before a pair connects, Gloo tells only after five
    # times the timeout.
    options._devices = [
        ProcessGroupGloo.create_device(interface=interface) for interface in interfaces
    ] or [ProcessGroupGloo.create_device(hostname=address)]
    options._timeout = timeout
    return ProcessGroupGloo(store, rank, ranks, options)
