from __future__ import annotations

from collections.abc import Iterator

import pytest

from probing.measured import PRECISELY, Measured
from support.lab import Lab, lab_cluster
from support.plink_command import plink, ssh_options


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """Two racks of three hosts."""
    with lab_cluster(racks=2, hosts=3) as lab:
        yield lab


# Racks far apart, so that other work on this machine, which lengthens times, hides no change.
@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    file = tmp_path_factory.mktemp("check") / "c.json"
    with lab_cluster(racks=2, hosts=3, hops=16) as lab:
        done = plink("probe", lab.hosts_file, *ssh_options(lab), "-o", file, *PRECISELY)
        assert done.code == 0, done.stderr
        yield Measured(lab, file)
