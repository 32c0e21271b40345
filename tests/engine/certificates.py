"""Certificates of made-up jobs."""

from __future__ import annotations

import datetime
from pathlib import Path
from unittest import mock

from plink.transport import certificates
from plink.transport.certificates import Holder, write_certificates


def job(folder: Path, ranks: int = 0, days: int = 7, since_days: int = 30) -> str:
    """A new job's folder: `host`, `none` for no rank, and one for each rank if they are named.

    Certificates are valid from `since_days` ago until in `days`.
    """
    names = ["localhost", "127.0.0.1"]
    holders = {"host": Holder(names), "none": Holder(names, is_rank=False)}
    holders.update({str(rank): Holder(["127.0.0.1"], rank) for rank in range(ranks)})
    with mock.patch.object(certificates, "_EARLIER", datetime.timedelta(days=since_days)):
        write_certificates(str(folder), holders, days)
    return str(folder)
