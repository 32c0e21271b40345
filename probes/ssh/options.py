"""SSH options of a run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SshOptions:
    """SSH options that apply to every host of a run.

    Args:
        config_file: an SSH configuration to use alone (`ssh -F`); None: the user's own.
        identity_file: a private key to use alone (`ssh -i`); None: configuration, agent, defaults.
        user: the user for hosts listed without one; None: configuration, then local user.
        accept_new_host_keys: trust and remember the key of a host that was never seen.
        concurrency: handshakes in flight; more overload a server's `MaxStartups` or our own cores.
        timeout_s: how long to wait for a connection, and again for its handshake.
    """

    config_file: str | None = None
    identity_file: str | None = None
    user: str | None = None
    accept_new_host_keys: bool = False
    concurrency: int = 16
    timeout_s: float = 15.0
