"""Options for reaching hosts (SSH or `--via`) as the user typed them, recorded in files."""

from __future__ import annotations

from msgspec import Struct


class GivenWay(Struct, frozen=True, forbid_unknown_fields=True):
    """Options for reaching hosts (SSH settings or `--via`), as the user typed them.

    Attributes:
        config: SSH configuration (`-F`)
        identity: private key (`-i`)
        user: user for hosts whose line in the host list names none (`--user`)
        via: command that leads into hosts, in place of SSH (`--via`)
    """

    config: str | None = None
    identity: str | None = None
    user: str | None = None
    via: str | None = None

    def words(self) -> list[str]:
        """Return the given options for reaching hosts, with values, as words of a command."""
        options = (
            ("-F", self.config),
            ("-i", self.identity),
            ("--user", self.user),
            ("--via", self.via),
        )
        return [word for option, value in options if value is not None for word in (option, value)]
