"""`plink check`: check whether a cluster file still describes its network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.base.errors import EXIT_CHANGED, EXIT_PARTIAL
from plink.base.lazy import lazy_imports
from plink.base.next_command import next_command
from plink.base.text import bandwidth_text, format_count, printable
from plink.cli.given import WAY, all_words
from plink.cli.json_output import print_json
from plink.cli.options import SectionedCommand, given_options
from plink.cli.probe_options import with_check_options
from plink.cli.progress import StageProgress
from plink.cli.stderr import name_some, naming_unreached, note, warn
from plink.cli.way_options import take_any_way, with_listen_options, with_way_options
from plink.measure.probing.limits import CHECK_PARTNERS, CHECK_TRANSFERS_S

with lazy_imports():
    from rich import text as rich_text

    from plink.cli import probe_action
    from plink.files import cluster as cluster_file
    from plink.files import document, outputs
    from plink.measure import listed
    from plink.measure.drift import judge
    from plink.measure.drift import rates as drift_rates
    from plink.measure.probing import check as probing_check
    from plink.measure.probing import check_transfers
    from plink.model import estimating
    from plink.show import tables
    from plink.show.terminal import paper as paper_page


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink check cluster.json && mpirun --hostfile hostfile ./job",
)
@click.argument("cluster")
@with_check_options
@with_way_options
@with_listen_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    """Measure a small sample of CLUSTER's pairs again, and tell whether it is still valid.

    CLUSTER is a file that plink probe wrote; it says how it was measured, and that is how it is
    measured again. Nothing is written. The exit code is 0 where the file still describes the
    network, 4 where it does not, 3 where that is all that could be measured.
    """
    return _run(options, given_options(context))


# What `plink probe --check` takes: the file says the rest, such as the tool and the percentile.
_WITH_CHECK = {
    *("check", "as_json", "count", "passes", "precision_percent", "rounds", "seed", "concurrency"),
    *("timeout_s", "network", "interface", "port", "nics", "remote_cache"),
    *WAY,
}


def check_as_probe(given: Mapping[str, str], options: Mapping[str, Any]) -> int:
    """Run `plink probe --check FILE`, an old spelling, with a note on the new one.

    Args:
        given: what the command line gives, and how a user writes it.
        options: all of `plink probe`.
    """
    for name, written in given.items():
        if name not in _WITH_CHECK:
            raise click.UsageError(f"{written} cannot be combined with --check.")
    values = {name: value for name, value in options.items() if name in _WITH_CHECK}
    values["cluster"], values["partners"] = values.pop("check"), values.pop("rounds")
    note(f"use the present spelling: {next_command('check', values['cluster'], *all_words())}")
    return _run(values, given)


def _run(options: dict[str, Any], given: Mapping[str, str]) -> int:

    with StageProgress() as progress:
        return _measure(options, given, progress)


# A common factor as small as that is not worth a word.
_ALIKE = 0.02
_ALIKE_RATES = 0.1


def _measure(options: Mapping[str, Any], given: Mapping[str, str], progress: StageProgress) -> int:
    """Run `plink check` with these options; return the exit code.

    Args:
        options: all, by the names of their parameters.
        given: those that the command line gives, and how a user writes them.
        progress: told how far it is.
    """
    path = options["cluster"]
    source = document.label(path)
    cluster = cluster_file.read_cluster(path)
    rtt = probing_check.select_comparable_rtt(cluster, source)
    probe_action.refuse_unused(given, rtt.tool, f"and {source} was measured with {rtt.tool}")
    partners = options["partners"] or CHECK_PARTNERS
    values = {**options, "nics": probe_action.read_nics(options["nics"]) or None}
    request = probing_check.build_check_request(
        cluster,
        source,
        probe_action.select_tool_options(rtt.tool, values),
        network=options["network"],
        interface=options["interface"],
        seed=options["seed"],
        timeout_s=options["timeout_s"],
        concurrency=options["concurrency"],
        way=listed.apply_recorded_way(take_any_way(dict(options)), cluster.way, source),
    )
    with naming_unreached():
        result = probing_check.check(
            cluster,
            judge.expect(rtt, estimating.estimate_round_trips(cluster)),
            request,
            partners=partners,
            transfers_s=options.get("transfers_s", CHECK_TRANSFERS_S),
            progress=progress,
        )
    _warn(result)
    if options["as_json"]:
        print_json(_describe(cluster, result, partners, request.seed))
    else:
        _print(source, cluster, result)
        note(f"--seed {request.seed} measures the same pairs again")
    if result.is_changed:
        return EXIT_CHANGED
    return 0 if result.is_whole else EXIT_PARTIAL


def _warn(result: probing_check.CheckResult) -> None:
    for name, reason in result.unreachable.items():
        warn(f"{name}: {reason}")
    for name, (before, now) in result.moved.items():
        warn(f"{name}: has the address {now}, had {before} before")
    name_some(result.failures, "hosts and directed pairs")


# Single pairs may differ by chance: only hosts with many such pairs count as changed.
_DIFFER = {True: "changed", False: "differ, at no host in particular,"}


def _print(source: str, cluster: cluster_file.Cluster, result: probing_check.CheckResult) -> None:
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
        console.print(rich_text.Text(check_transfers.summarize_changes(rates)))
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
    cluster: cluster_file.Cluster, result: probing_check.CheckResult, partners: int, seed: int
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
            outputs.ChangedHosts(
                [names[host] for host in change.hosts],
                change.pairs,
                change.longer,
                change.shorter,
                change.longer_factor,
                change.shorter_factor,
            )
            for change in found.changes
        ],
        addresses=[outputs.MovedHost(name, *addresses) for name, addresses in result.moved.items()],
        unreachable=[outputs.UnreachedHost(*failure) for failure in result.unreachable.items()],
        failures=result.failures,
        transfers=None if result.rates is None else _describe_transfers(result.rates),
        not_checked=result.not_checked,
        rounds=partners,
        seed=seed,
        seconds=round(result.seconds, 3),
    )


def _describe_transfers(rates: check_transfers.RatesResult) -> outputs.CheckedTransfers:
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
