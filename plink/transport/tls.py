"""Which certificate an end of a connection shows, and which it believes."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plink.base.errors import WrongUseError

FOLDER_VARIABLE = "PLINK_TLS"
FILE_VARIABLES = ("PLINK_TLS_CERTIFICATE", "PLINK_TLS_KEY", "PLINK_TLS_AUTHORITY")

CERTIFICATE_FILE = "certificate.pem"
KEY_FILE = "key.pem"
AUTHORITY_FILE = "authority.pem"

# Among a certificate's alternative names; the native engine looks for the same.
RANK_URI = "plink:rank:"
# In a number's place: a certificate that speaks for no rank.
NO_RANK = "none"


@dataclass(frozen=True)
class Tls:
    """Files in PEM form. `{rank}` and `{host}` in a path stand for the rank and this host's name.

    Args:
        certificate: shown to others, with what leads from it to the authority.
        key: its private key, without a pass phrase.
        authority: who must have signed the certificates of others.
        names: by rank of an engine, how certificates call it; empty where that is its number.
    """

    certificate: str
    key: str
    authority: str
    names: Sequence[int] = ()

    @staticmethod
    def of_folder(folder: str) -> Tls:
        """Return the files as `plink plan --certificates` calls them."""
        return Tls(
            f"{folder}/{CERTIFICATE_FILE}", f"{folder}/{KEY_FILE}", f"{folder}/{AUTHORITY_FILE}"
        )

    def for_rank(self, rank: int) -> Tls:
        """Return the files of that rank, all of which can be read.

        Raises:
            WrongUseError: one cannot.
        """
        return self._fill({"rank": str(self.names[rank] if self.names else rank)})

    def for_host(self) -> Tls:
        """Return the files of a process that is no rank.

        Raises:
            WrongUseError: a file cannot be read.
        """
        return self._fill({})

    def _fill(self, words: Mapping[str, str]) -> Tls:
        words = {**words, "host": socket.gethostname()}
        paths = {}
        for part in ("certificate", "key", "authority"):
            path = getattr(self, part)
            for word, value in words.items():
                path = path.replace(f"{{{word}}}", value)
            _check_readable(path)
            paths[part] = path
        return replace(self, **paths)


def tls_of(environment: Mapping[str, str]) -> Tls | None:
    """Read TLS settings from the environment of a process; None if there are none.

    Raises:
        WrongUseError: it names a part of what is needed.
    """
    folder = environment.get(FOLDER_VARIABLE)
    given = {name: environment[name] for name in FILE_VARIABLES if environment.get(name)}
    if folder and given:
        raise WrongUseError(f"{FOLDER_VARIABLE} and {', '.join(given)} do not go together")
    if folder:
        return Tls.of_folder(folder)
    if not given:
        return None
    missing = [name for name in FILE_VARIABLES if name not in given]
    if missing:
        raise WrongUseError(f"{', '.join(given)} without {', '.join(missing)}: TLS needs all three")
    certificate, key, authority = (given[name] for name in FILE_VARIABLES)
    return Tls(certificate, key, authority)


def _check_readable(path: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise WrongUseError(
            f"{os.fspath(path)}: {error.strerror or error}",
            "plink plan makes certificates",
        ) from None
