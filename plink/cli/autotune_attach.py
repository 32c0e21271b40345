"""Action of `plink autotune attach`: inspect a job of a running daemon."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, NoReturn

from plink.autotune.daemon.attaching import Viewer, attach
from plink.autotune.daemon.terminal import view
from plink.autotune.protocol.handshake import DEFAULT_JOB, secret_of
from plink.autotune.protocol.status import to_json
from plink.autotune.ranks.settings import JOB_VARIABLE
from plink.base.errors import WrongUseError
from plink.base.text import json_text
from plink.cli.stderr import read_kept_secret
from plink.files import document
from plink.transport.addresses import parse_address
from plink.transport.proofs import is_name
from plink.transport.tls import Tls, tls_of

_REFRESH_S = 0.5


def run(
    address: str,
    secret_file: str | None,
    tls: str | None,
    job: str | None,
    *,
    as_json: bool,
    is_watching: bool,
) -> int:
    """Show the job until interrupted; as JSON once, or once per change if `is_watching`.

    Raises:
        WrongUseError: no secret, or an address or a name that is not valid.
        PlinkError: no daemon answers there, or it ends.
    """
    host, port = parse_address(address, "the daemon's address")
    name = job or os.environ.get(JOB_VARIABLE) or DEFAULT_JOB
    if not is_name(name):
        raise WrongUseError(f"--job is {name!r}, expected letters, digits, '_', '.' and '-'")
    secret = secret_of(os.environ) if secret_file is None else read_kept_secret(secret_file)
    if secret is None:
        raise WrongUseError(
            "attaching needs the job's secret",
            "give --secret-file PLAN.secret, the file that the daemon uses",
        )
    files = tls_of(os.environ) if tls is None else Tls.of_folder(tls)
    try:
        with attach(host, port, secret, name, files.for_host() if files else None) as viewer:
            if not as_json:
                _show(viewer)
            elif is_watching:
                _print_changes(viewer)
            else:
                _print(to_json(viewer.look()))
    except KeyboardInterrupt:
        pass
    return 0


def _show(viewer: Viewer) -> NoReturn:
    from rich.live import Live  # noqa: PLC0415

    with Live(auto_refresh=False, screen=False) as live:
        while True:
            live.update(view([viewer.look()]), refresh=True)
            _pause()


def _print_changes(viewer: Viewer) -> NoReturn:
    before: Mapping[str, Any] = {}
    while True:
        now = to_json(viewer.look())
        if now != before:
            _print(now)
            before = now
        _pause()


def _print(status: Mapping[str, Any]) -> None:
    """Print one line of JSON."""
    line = json_text(status)
    document.write_bytes(document.STANDARD_STREAM, f"{line}\n".encode())


def _pause() -> None:
    time.sleep(_REFRESH_S)
