"""Printing of errors with hints, warnings and notes on standard error.

All of it may quote files, hosts and other programs, so nothing of it may steer a terminal.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from plink.base.errors import PartialResultError, PlinkError
from plink.base.lazy import lazy_imports
from plink.base.text import MOST_NAMED, printable

with lazy_imports():
    from rich import console as rich_console

    from plink.measure.probing import request as probing_request
    from plink.transport import proofs
    from plink.transport import tls as transport_tls


def print_error(error: PlinkError) -> None:
    """Print an error, or a warning if there is a result, with its hint."""
    if isinstance(error, PartialResultError):
        warn(str(error), error.hint)
    else:
        _print("error", "red", str(error), error.hint)


def warn(text: str, hint: str | None = None) -> None:
    """Print a warning, such as that something is missing from the result."""
    _print("warning", "yellow", text, hint)


def note(text: str) -> None:
    """Print a note for the user on standard error."""
    click.echo(f"note: {printable(text)}", err=True)


def note_if_others_read(path: str) -> None:
    """Print a note if other users of this host can read a file with a secret."""
    # Whether it is there and can be read is for whoever reads it to say.
    with suppress(OSError, ValueError):
        if Path(path).stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            note(f"{path}: other users can read this secret; chmod go-r prevents that")


def read_kept_secret(path: str) -> bytes:
    """Return the secret in a file; print a note if other users can read it."""
    note_if_others_read(path)
    return proofs.read_secret(path)


def read_or_make_secret(path: str) -> bytes:
    """Return the secret in a file, which is made with a new secret if it is not there."""
    return read_kept_secret(path) if os.path.lexists(path) else proofs.make_secret(path)


def host_tls(folder: str | None) -> transport_tls.Tls | None:
    """Return the TLS files of this host, or None; print a note if other users can read the key.

    Args:
        folder: folder with the certificate; None for what the environment names.

    Returns:
        the paths of the files; None without TLS.

    Raises:
        WrongUseError: a file cannot be read.
    """
    of_folder, of_environment = transport_tls.Tls.of_folder, transport_tls.tls_of
    files = of_environment(os.environ) if folder is None else of_folder(folder)
    if files is None:
        return None
    files = files.for_host()
    note_if_others_read(files.key)
    return files


def console() -> rich_console.Console:
    """Return a rich console on standard error, for tables and progress."""
    return rich_console.Console(stderr=True, highlight=False, markup=False, emoji=False)


@contextmanager
def print_unreached() -> Iterator[None]:
    """Print a warning for each host not reached if the block raises that too few were."""
    try:
        yield
    except probing_request.TooFewReachedError as error:
        for failure in error.failures:
            warn(f"{failure.host}: {failure}")
        raise


def name_some(reasons: Sequence[object], others: str, write: Callable[[str], None] = warn) -> None:
    """Print the first of some failures or notes one by one, and the number of the others."""
    for reason in reasons[:MOST_NAMED]:
        write(str(reason))
    if len(reasons) > MOST_NAMED:
        write(f"... and {len(reasons) - MOST_NAMED} more {others}")


def _print(kind: str, colour: str, text: str, hint: str | None) -> None:
    color = False if os.environ.get("NO_COLOR") else None
    click.echo(f"{click.style(f'{kind}:', fg=colour)} {printable(text)}", err=True, color=color)
    if hint:
        _print("hint", "cyan", hint, None)
