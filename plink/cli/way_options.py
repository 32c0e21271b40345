"""Options on how hosts are reached: over SSH, by another command, or by connecting agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import given_names, option
from plink.cli.request_options import with_request
from plink.cli.stderr import read_or_make_secret
from plink.probes.options import SSH, SshOptions, ViaOptions

with lazy_imports():
    from plink.probes import options as probe_options
    from plink.probes import reach
    from plink.transport import addresses


_REACHING = "Reaching hosts"
_SSH = "SSH"


@dataclass(frozen=True, kw_only=True)
class ReachOptions:
    """Options of a command on how hosts are reached: SSH or another command."""

    via: str | None = option(
        None,
        metavar="COMMAND",
        section=_REACHING,
        help="Command that leads into a host in place of SSH, such as 'kubectl exec -i {host} --'; "
        "ssh for SSH where the host list says otherwise.",
    )
    ssh_config: str | None = option(
        None,
        short="-F",
        metavar="FILE",
        section=_SSH,
        help="SSH configuration to use instead of ~/.ssh/config.",
    )
    identity: str | None = option(
        None, short="-i", metavar="KEY", section=_SSH, help="Private key file to use."
    )
    user: str | None = option(
        None,
        metavar="NAME",
        section=_SSH,
        help="User for hosts whose line in the host list names none.",
    )
    accept_new_host_keys: bool = option(
        False, section=_SSH, help="Trust and remember the key of a host never seen before."
    )
    ssh_concurrency: int = option(
        SshOptions.concurrency,
        low=1,
        high=1024,
        section=_SSH,
        help="Number of SSH handshakes, or of --via commands, at once.",
    )

    def validate(self) -> None:
        """Raise WrongUseError if options of SSH are given beside `--via COMMAND`."""
        if self.via not in (None, SSH):
            for name in self._ssh_names():
                raise WrongUseError(
                    f"{{{name}}} applies to SSH, and excludes {{via}}", arguments=vars(self)
                )

    def resolve(self) -> reach.Outgoing:
        """Return the settings for reaching hosts over SSH or by `--via`, from the options."""
        if self.via not in (None, SSH):
            return ViaOptions(str(self.via), concurrency=self.ssh_concurrency)
        return SshOptions(
            self.ssh_config,
            self.identity,
            self.user,
            accept_new_host_keys=self.accept_new_host_keys,
            concurrency=self.ssh_concurrency,
        )

    def _ssh_names(self) -> list[str]:
        of_ssh = {each.name for each in fields(ReachOptions)} - {"via", "ssh_concurrency"}
        return [name for name in given_names(self) if name in of_ssh]


@dataclass(frozen=True, kw_only=True)
class CallOptions(ReachOptions):
    """Options of a command on how hosts are reached, or on waiting for agents to connect."""

    listen: str | None = option(
        None,
        metavar="HOST:PORT",
        section=_REACHING,
        excludes={"via": None},
        needs=("secret_file", "FILE"),
        help="Wait at this address for hosts to connect (plink agent --join), instead of reaching "
        "them.",
    )
    secret_file: str | None = option(
        None,
        metavar="FILE",
        section=_REACHING,
        needs=("listen", "HOST:PORT"),
        help="File with the secret that the agents have; created if it does not exist.",
    )
    wait_s: float = option(
        300.0,
        "--wait",
        low=1,
        high=86_400,
        metavar="SECONDS",
        section=_REACHING,
        help="Seconds to wait for hosts to connect.",
    )

    def validate(self) -> None:
        """Raise WrongUseError if options of SSH are given beside `--listen`."""
        super().validate()
        if self.listen is not None and self._ssh_names():
            raise WrongUseError(
                "{listen} excludes SSH options, as hosts connect to plink", arguments=vars(self)
            )

    def resolve_any(self) -> reach.Outgoing | probe_options.ListenOptions:
        """Return the settings for reaching hosts, or for listening to connecting agents.

        Raises:
            WrongUseError: no address, or no secret.
        """
        if self.listen is None or self.secret_file is None:
            return self.resolve()
        host, port = addresses.parse_address(self.listen, "--listen")
        secret = read_or_make_secret(self.secret_file)
        return probe_options.ListenOptions(
            host, port, secret, wait_s=self.wait_s, concurrency=self.ssh_concurrency
        )


# The command receives them as `reach`.
with_reach_options: Callable[[Callable[..., Any]], Callable[..., Any]]
with_reach_options = with_request(ReachOptions, passed_as="reach")
with_call_options = with_request(CallOptions, passed_as="reach")
