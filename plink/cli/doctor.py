"""`plink doctor`: explain in words what slows a cluster or a job down."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import click

from plink.base.errors import EXIT_CHANGED, EXIT_PARTIAL, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.text import format_count, printable
from plink.cli.json_output import check_output, json_option, print_json
from plink.cli.options import SectionedCommand, make_section_option
from plink.cli.progress import stage_progress
from plink.cli.request_options import with_request
from plink.cli.stderr import note, print_unreached, warn
from plink.cli.way_options import CallOptions, with_call_options
from plink.measure.requests import DiagnosisRequest, ImportRequest

with lazy_imports():
    from rich import console as rich_console
    from rich import text as rich_text

    from plink.autotune.log import history, records
    from plink.doctor import evidence as doctor_evidence
    from plink.formats import cluster as cluster_file
    from plink.formats import comparison as comparison_file
    from plink.formats import document, unpacking
    from plink.measure.importing import source as importing_source
    from plink.show.terminal import paper as paper_page
    from plink.verbs import doctor as doctor_verb
    from plink.verbs import live_diagnosis


@click.command(
    cls=SectionedCommand, epilog="Example: plink doctor cluster.json --live --before healthy.json"
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--before",
    metavar="FILE",
    help="Earlier file of the same hosts or job, from a time without problems, of the same "
    "kind as a given file.",
)
@json_option("Print the findings as JSON.")
@with_request(DiagnosisRequest)
@make_section_option("Asking hosts")(
    "-o",
    "--output",
    metavar="FILE",
    help="With --live: write the cluster with the new measurements to this file.",
)
@with_call_options
def command(
    *,
    request: DiagnosisRequest,
    files: Sequence[str],
    before: str | None,
    output: str | None,
    as_json: bool,
    reach: CallOptions,
) -> int:
    """Find what slows a cluster or a job down: where, by what evidence, how surely, what to try.

    A FILE is a cluster file, a log of autotune's, a log of nccl-tests, or a comparison that plink
    bench wrote; at most one of each kind. The exit code is 0 where nothing is wrong, 4 where
    something is, 3 where nothing is as far as hosts could be asked.
    """
    for name, value in (("output", output), ("listen", reach.listen)):
        if value is not None and not request.live:
            raise click.UsageError(f"--{name} needs --live.")
    check_output(output, "the cluster", as_json=as_json, has_matrices=True)
    now = _read_files(files)
    then = {} if before is None else _read_files([before])
    if before is not None:
        _refuse_unlike(now, then, before)
    cluster = now.get("cluster")
    missed: list[str] = []
    asked_at = None
    if request.live:
        if cluster is None or cluster.source == document.NOT_A_FILE:
            raise WrongUseError(
                "--live needs a cluster file, which names the hosts to measure",
                "plink probe HOSTS -o cluster.json makes one",
            )
        with stage_progress() as progress, print_unreached():
            cluster, missed, asked_at = live_diagnosis.examine(
                cluster, request, reach.resolve_any(), source=cluster.source, progress=progress
            )
        if output is not None:
            cluster_file.write_cluster(output, cluster)
    evidence = doctor_evidence.Evidence(
        cluster or cluster_file.Cluster(()),
        before=then.get("cluster"),
        tuned=now.get("tuned"),
        comparison=now.get("comparison"),
        comparison_before=then.get("comparison"),
        asked_at=asked_at,
    )
    diagnosis = doctor_verb.judge_evidence(evidence, missed)
    for text in missed:
        warn(text)
    if as_json:
        rounded = [
            replace(each, probability=round(each.probability, 4), cost=round(each.cost, 3))
            for each in diagnosis.findings
        ]
        print_json(replace(diagnosis, findings=rounded))
    elif output != document.STANDARD_STREAM:
        _print(diagnosis)
        if diagnosis.not_looked_at and not request.live and evidence.cluster.hosts:
            note("run plink doctor again with --live to ask the hosts and measure what is missing")
    if diagnosis.findings:
        return EXIT_CHANGED
    return EXIT_PARTIAL if missed else 0


_PERCENTILE = 10.0
_INDENT = "   "
_MOST_COLUMNS = 100


def _read_files(paths: Sequence[str]) -> dict[str, Any]:
    """Return the contents of files to diagnose by kind: `cluster`, `tuned` or `comparison`."""
    found: dict[str, Any] = {}
    for path in paths:
        source = document.label(path)
        kind, value = _read_file(document.read_content(path), source)
        if kind in found:
            raise WrongUseError(
                f"{source}: is a second file of the kind {kind}, expected one of each",
                "give one file of a kind, and an earlier one with --before",
            )
        found[kind] = value
    return found


def _read_file(content: unpacking.Content, source: str) -> tuple[str, object]:
    if isinstance(content, bytes) and records.is_log(content):
        try:
            runs = [records.parse(content, source)]
            return "tuned", history.history_of(runs, with_replay=False)
        except ValueError as error:
            raise WrongUseError(f"{source}: {error}") from None
    if isinstance(content, bytes) and importing_source.is_log(content):
        request = ImportRequest(percentile=_PERCENTILE)
        return "cluster", importing_source.import_content(content, source, request)
    data = document.load_document(content, source).data
    if data.get("format") == comparison_file.FORMAT:
        return "comparison", comparison_file.decode_comparison(data, source)
    if data.get("format") == cluster_file.FORMAT:
        return "cluster", cluster_file.decode_cluster(data, source)
    raise WrongUseError(
        f"{source}: is of no kind that plink doctor reads",
        "give a cluster file, a log of plink autotune or of a benchmark, or a comparison",
    )


def _refuse_unlike(now: Mapping[str, object], then: Mapping[str, object], path: str) -> None:
    if not now.keys() & then.keys():
        raise WrongUseError(
            f"{document.label(path)}: is of another kind than the file it is compared with",
            "compare a cluster file with a cluster file, and a comparison with a comparison",
        )
    if "tuned" in then:
        raise WrongUseError(
            f"{document.label(path)}: a log of plink autotune has no earlier file to compare with",
            "leave out --before",
        )


def _print(diagnosis: doctor_verb.Diagnosis) -> None:
    console = paper_page.paper(None).console
    findings = diagnosis.findings
    headline = format_count(len(findings), "finding") if findings else "nothing found"
    console.print(rich_text.Text(headline, style="bold"))
    for number, finding in enumerate(findings, start=1):
        console.print()
        _print_wrapped(console, f"{finding.says} ({finding.certainty})", f"{number}. ")
        for name, texts in (("also", finding.evidence), ("try", finding.advice)):
            for text in texts:
                _print_wrapped(console, text, f"{_INDENT}{name}: ")
    inputs = (("looked at", diagnosis.looked_at), ("not looked at", diagnosis.not_looked_at))
    for name, texts in inputs:
        if texts:
            console.print()
            _print_wrapped(console, "; ".join(texts), f"{name}: ")


def _print_wrapped(console: rich_console.Console, text: str, begin: str) -> None:
    """Print a text after a prefix, with continuation lines indented to match."""
    width, indent = min(_MOST_COLUMNS, console.width), " " * len(begin)
    for line in textwrap.wrap(
        printable(text), max(len(begin) + 20, width), initial_indent=begin, subsequent_indent=indent
    ):
        console.print(rich_text.Text(line), soft_wrap=True)
