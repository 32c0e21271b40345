"""Errors of the `probes` package; the type tells whether the user or a host is at fault."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MAX_MESSAGE = 200


class ProbesError(Exception):
    """Base class of errors of `probes`: one sentence, and a hint on what to do, or None.

    Args:
        options: names of the options that do what the hint suggests; each caller spells them.
    """

    def __init__(self, message: str, hint: str | None = None, options: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.hint = hint
        self.options = tuple(options)

    @property
    def marked_hint(self) -> str | None:
        """Hint with the names of its options in braces, as in `use the tool fping ({tool})`."""
        if self.hint is None or not self.options:
            return self.hint
        return f"{self.hint} ({', '.join(f'{{{name}}}' for name in self.options)})"


class HostListError(ProbesError):
    """Error in a host list or an inventory; the message names the source and the line."""


class OptionError(ProbesError):
    """Error that an option of the user cannot be applied, such as a key file that is missing."""


class HostError(ProbesError):
    """Failure of one host of a run, whose name is `host`; the message is the reason."""

    def __init__(
        self, host: str, message: str, hint: str | None = None, options: Sequence[str] = ()
    ) -> None:
        super().__init__(clean(message), hint, options)
        self.host = host


class ProtocolError(ProbesError):
    """Error that a line from plink's program on a host is not one of its protocol."""


def clean(message: str) -> str:
    """Return a foreign text cut to 200 characters and without control characters, safe to print."""
    cut = message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 3] + "..."
    return "".join(character if character.isprintable() else "\ufffd" for character in cut)


def name_some(names: Iterable[str], most: int = 3) -> str:
    """Return the first names as text, safe to print: `a, b, c and 5 more`, or `none`."""
    known = [clean(name) for name in names]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more if known else "none"
