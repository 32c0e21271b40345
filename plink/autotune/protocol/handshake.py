"""How a rank and the daemon prove to each other that they know the job's secret.

The rank sends magic, version, job and a nonce; the daemon a nonce and its proof; the rank its own.
Every step has a fixed length, so that a stranger can neither send nor ask for more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from plink.autotune.protocol.frames import ProtocolError
from plink.autotune.protocol.secret import NONCE_BYTES, PROOF_BYTES, is_proof, proof

_MAGIC = b"plinktune\x02"
_NAME_BYTES = 64

GREETING_BYTES = len(_MAGIC) + _NAME_BYTES + NONCE_BYTES
CHALLENGE_BYTES = NONCE_BYTES + PROOF_BYTES
ANSWER_BYTES = PROOF_BYTES

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def is_job_name(name: str) -> bool:
    """Letters, digits, `_`, `.` and `-`, 64 at most."""
    return len(name) <= _NAME_BYTES and _NAME.fullmatch(name) is not None


def greeting(job: str, nonce: bytes) -> bytes:
    """What a rank says first."""
    return _MAGIC + job.encode().ljust(_NAME_BYTES, b"\0") + nonce


def parse_greeting(received: bytes) -> tuple[str, bytes]:
    """The job's name and the nonce.

    Raises:
        ProtocolError: it is none.
    """
    if len(received) != GREETING_BYTES or not received.startswith(_MAGIC):
        raise ProtocolError("no rank of this version of plink")
    name = received[len(_MAGIC) : -NONCE_BYTES].rstrip(b"\0").decode("ascii", "replace")
    if not is_job_name(name):
        raise ProtocolError("a job's name has letters, digits, '_', '.' and '-', at most 64")
    return name, received[-NONCE_BYTES:]


@dataclass(frozen=True)
class Proofs:
    """What both ends say and share once they have each other's nonce.

    Args:
        secret: of the job.
        job: its name.
        nonces: the rank's, then the daemon's.
    """

    secret: bytes
    job: str
    nonces: bytes

    @property
    def of_daemon(self) -> bytes:
        """The daemon's proof."""
        return proof(self.secret, "daemon", self.job, self.nonces)

    @property
    def of_rank(self) -> bytes:
        """The rank's proof."""
        return proof(self.secret, "rank", self.job, self.nonces)

    @property
    def session_key(self) -> bytes:
        """For `Channel`."""
        return proof(self.secret, "session", self.job, self.nonces)

    def check(self, given: bytes, expected: bytes) -> None:
        """Refuse a wrong proof.

        Raises:
            ProtocolError: it is wrong.
        """
        if not is_proof(given, expected):
            raise ProtocolError(f"job {self.job} has another secret there")
