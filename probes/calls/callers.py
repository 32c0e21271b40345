"""Hosts of a run that nobody listed: all agents that have called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plink.probes.calls.listener import Listener
from plink.probes.calls.options import ListenOptions
from plink.probes.errors import HostListError
from plink.probes.hosts.host import ListedHost

_PLACE = "callers"


@dataclass(frozen=True)
class Callers:
    """Agents that have called, whose connections a run uses.

    Args:
        options: how they were waited for.
        listener: which holds their calls.
    """

    options: ListenOptions
    listener: Listener

    @property
    def concurrency(self) -> int:
        """Number of hosts that are asked at once."""
        return self.options.concurrency

    @property
    def hosts(self) -> list[ListedHost]:
        """Hosts that have called, by name."""
        return [ListedHost(name, place=_PLACE) for name in self.listener.names()]


def gather(
    options: ListenOptions,
    expected: int,
    on_listening: Callable[[int], None] = lambda _: None,
    on_call: Callable[[int], None] = lambda _: None,
) -> Callers:
    """Wait until the expected number of hosts have called, or for `wait_s`.

    Args:
        options: where to listen, and how long.
        expected: at least 2.
        on_listening: told the port, once agents may call.
        on_call: told how many have called, whenever that changes.

    Raises:
        OptionError: nothing can listen there.
        HostListError: fewer than two have called.
    """
    listener = Listener(options)
    try:
        on_listening(listener.port)

        def enough(names: set[str]) -> bool:
            on_call(len(names))
            return len(names) >= expected

        listener.wait_until(enough, options.wait_s)
        callers = Callers(options, listener)
        if len(callers.hosts) < 2:
            turned_away = "; ".join(listener.refusals())
            raise HostListError(
                f"{len(callers.hosts)} of {expected} agents have called within "
                f"{options.wait_s:g} s" + (f" (turned away: {turned_away})" if turned_away else ""),
                f"start plink agent join=ADDRESS:{listener.port} on every host, with the secret",
            )
    except BaseException:
        listener.close()
        raise
    return callers
