"""Request to serve the ranks of tuned jobs: options of `plink autotune serve`."""

from __future__ import annotations

from dataclasses import dataclass

from plink.base.request import option
from plink.cli.request_options import METRICS, SERVER_TLS

_PROBING = "To probe hosts again"


@dataclass(frozen=True, kw_only=True)
class DaemonRequest:
    """Options of `plink autotune serve`: addresses, files, and how hosts are probed again."""

    listen: str = option(
        "",
        is_required=True,
        metavar="HOST:PORT",
        help="Address at which ranks report; 0.0.0.0 or [::] for all addresses, port 0 for any "
        "port.",
    )
    secret_file: str | None = option(
        None,
        metavar="FILE",
        help="File with the job's secret; created if it does not exist (default: PLAN.secret).",
    )
    tls: str | None = SERVER_TLS
    log: str | None = option(
        None, metavar="FILE", help="File to log measurements and decisions to, and to resume from."
    )
    metrics: str | None = METRICS
    is_watching: bool = option(
        False,
        "--watch",
        excludes={"as_json": "both write to standard output"},
        help="Show the jobs on the terminal, continuously.",
    )
    as_json: bool = option(
        False, "--json", help="Print every job's environment as one line of JSON."
    )
    cluster: str | None = option(
        None,
        metavar="FILE",
        section=_PROBING,
        excludes={"hosts": None},
        help="Cluster file: where a new plan cannot help, its hosts are probed again and it is "
        "updated.",
    )
    hosts: str | None = option(
        None,
        metavar="FILE",
        section=_PROBING,
        help="Host list to probe where there is no cluster file yet; otherwise like --cluster.",
    )
    output: str | None = option(
        None,
        short="-o",
        metavar="FILE",
        section=_PROBING,
        needs=(("cluster", "hosts"), "FILE"),
        help="Path of the updated cluster file (default: that of --cluster).",
    )
