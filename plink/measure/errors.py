"""Conversion of errors of the `probes` package to plink's own."""

from __future__ import annotations

from plink.base.errors import PlinkError, WrongUseError
from plink.probes.errors import HostError, ProbesError


def to_plink_error(error: ProbesError) -> PlinkError:
    """Convert an error of `probes`: HostError to PlinkError, any other to WrongUseError."""
    options = dict.fromkeys(error.options)
    hint = error.marked_hint
    if isinstance(error, HostError):
        return PlinkError(f"{error.host}: {error}", hint, arguments=options)
    return WrongUseError(str(error), hint, arguments=options)
