"""Action of `plink check`: measure a sample again and print what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from plink.base.errors import EXIT_CHANGED, EXIT_PARTIAL
from plink.base.text import bandwidth_text, format_count, printable
from plink.cli.listen_options import take_any_way
from plink.cli.probe_action import read_nics, refuse_unused, select_tool_options
from plink.cli.progress import StageProgress
from plink.cli.stderr import name_some, naming_unreached, note, warn
from plink.files import cluster as cluster_file
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.structs import encode
from plink.measure.drift.judge import DistanceChange, expect
from plink.measure.drift.rates import RateChange
from plink.measure.listed import apply_recorded_way
from plink.measure.probing.check import (
    CheckResult,
    build_check_request,
    check,
    select_comparable_rtt,
)
from plink.measure.probing.check_transfers import RatesResult, summarize_changes
from plink.measure.probing.limits import CHECK_PARTNERS, CHECK_TRANSFERS_S
from plink.model.estimating import estimate_round_trips
from plink.show.tables import Column
from plink.show.terminal.paper import paper, print_facts, print_table

# A common factor as small as that is not worth a word.
_ALIKE = 0.02
_ALIKE_RATES = 0.1


def run_command(
    options: Mapping[str, Any], given: Mapping[str, str], progress: StageProgress
) -> int:
    """Run `plink check` with these options; return the exit code.

    Args:
        options: all, by the names of their parameters.
        given: those that the command line gives, and how a user writes them.
        progress: told how far it is.
    """
    path = options["cluster"]
    source = document.label(path)
    cluster = cluster_file.read_cluster(path)
    rtt = select_comparable_rtt(cluster, source)
    refuse_unused(given, rtt.tool, f"and {source} was measured with {rtt.tool}")
    partners = options["partners"] or CHECK_PARTNERS
    values = {**options, "nics": read_nics(options["nics"]) or None}
    request = build_check_request(
        cluster,
        source,
        select_tool_options(rtt.tool, values),
        network=options["network"],
        interface=options["interface"],
        seed=options["seed"],
        timeout_s=options["timeout_s"],
        concurrency=options["concurrency"],
        way=apply_recorded_way(take_any_way(dict(options)), cluster.way, source),
    )
    with naming_unreached():
        result = check(
            cluster,
            expect(rtt, estimate_round_trips(cluster)),
            request,
            partners=partners,
            transfers_s=options.get("transfers_s", CHECK_TRANSFERS_S),
            progress=progress,
        )
    _warn(result)
    if options["as_json"]:
        document.write_bytes(
            document.STANDARD_STREAM,
            document.dump(_to_json(cluster, result, partners, request.seed)),
        )
    else:
        _print(source, cluster, result)
        note(f"--seed {request.seed} measures the same pairs again")
    if result.is_changed:
        return EXIT_CHANGED
    return 0 if result.is_whole else EXIT_PARTIAL


def _warn(result: CheckResult) -> None:
    for name, reason in result.unreachable.items():
        warn(f"{name}: {reason}")
    for name, (before, now) in result.moved.items():
        warn(f"{name}: has the address {now}, had {before} before")
    name_some(result.failures, "hosts and directed pairs")


# Single pairs may differ by chance: only hosts with many such pairs count as changed.
_DIFFER = {True: "changed", False: "differ, at no host in particular,"}


def _print(source: str, cluster: Cluster, result: CheckResult) -> None:
    console, found = paper(None).console, result.judgement
    verdict = "no longer describes" if result.is_changed else "still describes"
    console.print(Text(f"{printable(source)} {verdict} the network", style="bold"))
    noise = f"{found.noise_factor - 1.0:.0%}".replace("%", " %")
    among = f"{format_count(found.pairs, 'pair')} of {result.hosts:,} hosts"
    text = f"{len(found.changed):,} of {among} {_DIFFER[result.is_changed]} by more than {noise}"
    if abs(found.common_factor - 1.0) > _ALIKE:
        text += f"; the others take {_percent(found.common_factor)} than in the file"
    console.print(Text(text))
    rates = result.rates
    if rates is not None and (rates.hosts or rates.groups):
        console.print(Text(summarize_changes(rates)))
        if abs(rates.common_factor - 1.0) > _ALIKE_RATES:
            share = f"{rates.common_factor:.0%}".replace("%", " %")
            console.print(Text(f"the other hosts' links carry {share} of what the file says"))
    if found.changes:
        console.print()
        print_table(console, _change_columns(cluster), found.changes)
    if rates is not None and rates.changes:
        console.print()
        print_table(console, _RATE_COLUMNS, rates.changes)
    if result.not_checked:
        print_facts(console, [("unchecked", result.not_checked)])


def _change_columns(cluster: Cluster) -> list[Column[DistanceChange]]:
    return [
        Column(
            "hosts",
            lambda change: " ".join(cluster.names[host] for host in change.hosts),
            is_text=True,
        ),
        Column("pairs changed", lambda change: f"{change.changed:,} of {change.pairs:,}"),
        Column("longer", lambda change: _times(change.longer, change.longer_factor)),
        Column("shorter", lambda change: _times(change.shorter, change.shorter_factor)),
    ]


_RATE_COLUMNS: tuple[Column[RateChange], ...] = (
    Column(
        "link",
        lambda change: (
            f"{'uplink of ' if change.is_uplink else ''}{change.name} "
            f"{'sends' if change.sends else 'receives'}"
        ),
        is_text=True,
    ),
    Column("in the file", lambda change: bandwidth_text(change.file_gbit_s)),
    Column("now", lambda change: bandwidth_text(change.now_gbit_s)),
)


def _times(pairs: int, factor: float | None) -> str:
    return "" if factor is None else f"{pairs:,} (x {factor:.2f})"


def _percent(factor: float) -> str:
    share = f"{abs(factor - 1.0):.0%}".replace("%", " %")
    return f"{share} {'longer' if factor > 1.0 else 'less time'}"


def _to_json(cluster: Cluster, result: CheckResult, partners: int, seed: int) -> dict[str, Any]:
    found, names = result.judgement, cluster.names
    return {
        "changed": result.is_changed,
        "hosts": result.hosts,
        "pairs": found.pairs,
        "pairs_changed": [[names[a], names[b]] for a, b in found.changed],
        "common_factor": round(found.common_factor, 4),
        "noise_factor": round(found.noise_factor, 4),
        "changes": [
            {
                "hosts": [names[host] for host in change.hosts],
                "pairs": change.pairs,
                "longer": change.longer,
                "shorter": change.shorter,
                "longer_factor": change.longer_factor,
                "shorter_factor": change.shorter_factor,
            }
            for change in found.changes
        ],
        "addresses": [
            {"host": name, "file": before, "now": now}
            for name, (before, now) in result.moved.items()
        ],
        "unreachable": [
            {"host": name, "reason": reason} for name, reason in result.unreachable.items()
        ],
        "failures": encode(list(result.failures)),
        "transfers": None if result.rates is None else _rates_to_json(result.rates),
        "not_checked": list(result.not_checked),
        "rounds": partners,
        "seed": seed,
        "seconds": round(result.seconds, 3),
    }


def _rates_to_json(rates: RatesResult) -> dict[str, Any]:
    return {
        "hosts": list(rates.hosts),
        "groups": list(rates.groups),
        "changes": [
            {
                "group" if change.is_uplink else "host": change.name,
                "direction": "send" if change.sends else "receive",
                "file_gbit_s": round(change.file_gbit_s, 6),
                "now_gbit_s": round(change.now_gbit_s, 6),
            }
            for change in rates.changes
        ],
        "common_factor": round(rates.common_factor, 4),
        "seconds": round(rates.seconds, 3),
    }
