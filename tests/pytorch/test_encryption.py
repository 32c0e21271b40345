"""PLINK_TLS encrypts the engine's connections, of the whole group and of sub-groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.certificates import job
from plink.engine import _native
from pytorch import work_checks as checks
from pytorch.processes import results

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(not _native.HAS_TLS, reason="this build has no TLS"),
]


@pytest.mark.parametrize("name", ["host", "{rank}"])
def test_groups_are_encrypted_whoever_certificates_name(name: str, tmp_path: Path) -> None:
    folder = job(tmp_path / "tls", ranks=3)
    environment = {"PLINK_TLS": f"{folder}/{name}", "PLINK_SHARED_MEMORY": "0"}
    of_ranks = results(checks.ciphers, 3, tmp_path, environment=environment)
    assert [len(of_rank) for of_rank in of_ranks] == [1, 2, 2]
    assert all(len(one) == 1 and "" not in one for of_rank in of_ranks for one in of_rank)
