"""Agent's loop of calls: plink may not listen yet, and comes back for the next command."""

from __future__ import annotations

import math
import random
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

import paramiko

from plink.probes.calls.agent import Call
from plink.probes.calls.keys import Keys
from plink.probes.errors import OptionError

_CONNECT_S = 10.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 15.0

_LEFT = "left"


@dataclass(frozen=True)
class Home:
    """Address at which an agent calls plink, and the name of the agent's host.

    Args:
        host, port: where plink listens.
        keys: keys of the secret.
        name: what this host is called.
    """

    host: str
    port: int
    keys: Keys
    name: str


@dataclass(frozen=True)
class Told:
    """Status message of an agent about its calls.

    Args:
        state: `waiting`, `connected`, `left` (plink was there, and has gone) or `refused`.
        message: the same for a person.
    """

    state: str
    message: str


def serve(
    home: Home,
    say: Callable[[Told], None],
    *,
    once: bool = False,
    wait_s: float = math.inf,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Call plink until interrupted or, with `once`, until one session has ended.

    Args:
        home: whom to call.
        say: told what changes.
        once: end after the first call in which the other end knew the secret.
        wait_s: how long to call in vain, each time.
        pause: waits between calls, so many seconds.

    Raises:
        OptionError: nobody was there for so long.
    """
    pause_s, since_s = _FIRST_PAUSE_S, time.monotonic()
    said: Told | None = None
    while True:
        outcome = _call(home, say)
        was_served = outcome.state == _LEFT
        if was_served and once:
            return
        if outcome != said:
            say(outcome)
        said = None if was_served else outcome
        if was_served:
            since_s = time.monotonic()
        elif time.monotonic() - since_s >= wait_s:
            raise OptionError(
                f"nobody with the secret has listened at {home.host} port {home.port} for "
                f"{wait_s:g} s"
            )
        pause_s = _FIRST_PAUSE_S if was_served else min(_LONGEST_PAUSE_S, 2 * pause_s)
        # Hosts that were started together do not call together for ever.
        pause(pause_s * random.uniform(0.5, 1.0))


def _call(home: Home, say: Callable[[Told], None]) -> Told:
    """Make one call and return its outcome."""
    where = f"{home.host} port {home.port}"
    try:
        with socket.create_connection((home.host, home.port), timeout=_CONNECT_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(None)
            call = Call(connection, home.keys, home.name)
            say(Told("connected", f"connected to {where}"))
            try:
                call.wait()
            finally:
                call.close()
    except (OSError, EOFError, paramiko.SSHException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return Told("waiting", f"waiting for {where} ({reason.lower()})")
    if not call.was_trusted:
        return Told("refused", f"{where} does not know the secret, or refuses this host")
    return Told(_LEFT, f"{where} has gone; waiting for the next call")
