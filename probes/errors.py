"""Errors of this package. The type says whose fault it is."""

from __future__ import annotations

_MAX_MESSAGE = 200


class ProbesError(Exception):
    """Base class. The message is one sentence; `hint` says what to do, or is None."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class HostListError(ProbesError):
    """Error in a host list; the message names the source and the line."""


class OptionError(ProbesError):
    """The caller asked for something that cannot be done (a key file that is not there, ...)."""


class HostError(ProbesError):
    """Failure of one host. The message is the reason, without the host's name, which is `host`."""

    def __init__(self, host: str, message: str, hint: str | None = None) -> None:
        super().__init__(clean(message), hint)
        self.host = host


def clean(message: str) -> str:
    """Fit for a terminal: a host's own words may be escape sequences, or without end."""
    cut = message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 3] + "..."
    return "".join(character if character.isprintable() else "\ufffd" for character in cut)
