from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sshd import SSHD, Sshd, running_sshd


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    if SSHD is None:
        pytest.skip("no sshd here")
    folder: Path = tmp_path_factory.mktemp("sshd")
    with running_sshd(folder) as server:
        server.trust()
        yield server
