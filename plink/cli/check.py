"""`plink check`: check whether a cluster file still describes its network."""

from __future__ import annotations

import click

from plink.base.errors import EXIT_CHANGED, EXIT_PARTIAL
from plink.base.lazy import lazy_imports
from plink.base.text import bandwidth_text, format_count, printable
from plink.cli.json_output import json_option, print_json
from plink.cli.options import SectionedCommand
from plink.cli.progress import stage_progress
from plink.cli.request_options import with_request
from plink.cli.stderr import name_some, note, print_unreached, warn
from plink.cli.way_options import CallOptions, with_call_options
from plink.measure.requests import CheckRequest

with lazy_imports():
    from rich import text as rich_text

    from plink.formats import cluster as cluster_file
    from plink.formats import document, outputs
    from plink.measure.drift import judge
    from plink.measure.drift import rates as drift_rates
    from plink.measure.probing import check as checking
    from plink.show import tables
    from plink.show.terminal import paper as paper_page
    from plink.verbs import check as check_verb
    from plink.verbs import cluster as cluster_verb


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink check cluster.json && mpirun --hostfile hostfile ./job",
)
@click.argument("cluster")
@json_option("Print the verdict as JSON.")
@with_request(CheckRequest)
@with_call_options
def command(*, cluster: str, request: CheckRequest, reach: CallOptions, as_json: bool) -> int:
    """Measure a small sample of CLUSTER's pairs again, and tell whether it is still valid.

    CLUSTER is a file that plink probe wrote; it says how it was measured, and that is how it is
    measured again. Nothing is written. The exit code is 0 where the file still describes the
    network, 4 where it does not, 3 where that is all that could be measured.
    """
    source = document.label(cluster)
    known = cluster_verb.MeasuredCluster.read(cluster)
    with stage_progress() as progress, print_unreached():
        result = check_verb.measure_again(
            known, request, way=reach.resolve_any(), source=source, progress=progress
        )
    _warn(result)
    if as_json:
        print_json(_describe(known, result, request.partner_count))
    else:
        _print(source, known, result)
        note(f"to measure the same sample of pairs again, give --seed {result.seed}")
    if result.is_changed:
        return EXIT_CHANGED
    return 0 if result.is_whole else EXIT_PARTIAL


# A common factor as small as that is not worth a word.
_ALIKE = 0.02
_ALIKE_RATES = 0.1


def _warn(result: check_verb.Verdict) -> None:
    for name, reason in result.unreachable.items():
        warn(f"{name}: {reason}")
    for name, (before, now) in result.moved.items():
        warn(f"{name}: its address is now {now}, but {before} in the cluster file")
    name_some(result.failures, "hosts and directed pairs")


# Single pairs may differ by chance: only hosts with many such pairs count as changed.
_DIFFER = {True: "changed", False: "differ, at no host in particular,"}


def _print(source: str, cluster: cluster_file.Cluster, result: check_verb.Verdict) -> None:
    console, found = paper_page.paper(None).console, result.judgement
    verdict = "no longer describes" if result.is_changed else "still describes"
    console.print(rich_text.Text(f"{printable(source)} {verdict} the network", style="bold"))
    noise = f"{found.noise_factor - 1.0:.0%}".replace("%", " %")
    among = f"{format_count(found.pairs, 'pair')} of {result.hosts:,} hosts"
    text = f"{len(found.changed):,} of {among} {_DIFFER[result.is_changed]} by more than {noise}"
    if abs(found.common_factor - 1.0) > _ALIKE:
        text += f"; the others take {_percent(found.common_factor)} than in the file"
    console.print(rich_text.Text(text))
    rates = result.rates
    if rates is not None and (rates.hosts or rates.groups):
        console.print(rich_text.Text(checking.summarize_changes(rates)))
        if abs(rates.common_factor - 1.0) > _ALIKE_RATES:
            share = f"{rates.common_factor:.0%}".replace("%", " %")
            console.print(
                rich_text.Text(f"the other hosts' links carry {share} of what the file says")
            )
    if found.changes:
        console.print()
        paper_page.print_table(console, _change_columns(cluster), found.changes)
    if rates is not None and rates.changes:
        console.print()
        paper_page.print_table(console, _rate_columns(), rates.changes)
    if result.not_checked:
        paper_page.print_facts(console, [("unchecked", result.not_checked)])


def _change_columns(cluster: cluster_file.Cluster) -> list[tables.Column[judge.DistanceChange]]:
    return [
        tables.Column(
            "hosts",
            lambda change: " ".join(cluster.names[host] for host in change.hosts),
            is_text=True,
        ),
        tables.Column("pairs changed", lambda change: f"{change.changed:,} of {change.pairs:,}"),
        tables.Column("longer", lambda change: _times(change.longer, change.longer_factor)),
        tables.Column("shorter", lambda change: _times(change.shorter, change.shorter_factor)),
    ]


def _rate_columns() -> list[tables.Column[drift_rates.RateChange]]:
    return [
        tables.Column(
            "link",
            lambda change: (
                f"{'uplink of ' if change.is_uplink else ''}{change.name} "
                f"{'sends' if change.sends else 'receives'}"
            ),
            is_text=True,
        ),
        tables.Column("in the file", lambda change: bandwidth_text(change.file_gbit_s)),
        tables.Column("now", lambda change: bandwidth_text(change.now_gbit_s)),
    ]


def _times(pairs: int, factor: float | None) -> str:
    return "" if factor is None else f"{pairs:,} (x {factor:.2f})"


def _percent(factor: float) -> str:
    share = f"{abs(factor - 1.0):.0%}".replace("%", " %")
    return f"{share} {'longer' if factor > 1.0 else 'less time'}"


def _describe(
    cluster: cluster_file.Cluster, result: check_verb.Verdict, partners: int
) -> outputs.CheckOutput:
    found, names = result.judgement, cluster.names
    return outputs.CheckOutput(
        changed=result.is_changed,
        hosts=result.hosts,
        pairs=found.pairs,
        pairs_changed=[[names[a], names[b]] for a, b in found.changed],
        common_factor=round(found.common_factor, 4),
        noise_factor=round(found.noise_factor, 4),
        changes=[
            outputs.ChangedHosts(**vars(change) | {"hosts": [names[host] for host in change.hosts]})
            for change in found.changes
        ],
        addresses=[outputs.MovedHost(name, *addresses) for name, addresses in result.moved.items()],
        unreachable=[outputs.UnreachedHost(*failure) for failure in result.unreachable.items()],
        failures=result.failures,
        transfers=None if result.rates is None else _describe_transfers(result.rates),
        not_checked=result.not_checked,
        rounds=partners,
        seed=result.seed,
        seconds=round(result.seconds, 3),
    )


def _describe_transfers(rates: checking.RatesResult) -> outputs.CheckedTransfers:
    changes = [
        outputs.ChangedLink(
            None if change.is_uplink else change.name,
            change.name if change.is_uplink else None,
            "send" if change.sends else "receive",
            round(change.file_gbit_s, 6),
            round(change.now_gbit_s, 6),
        )
        for change in rates.changes
    ]
    return outputs.CheckedTransfers(
        rates.hosts, rates.groups, changes, round(rates.common_factor, 4), round(rates.seconds, 3)
    )
