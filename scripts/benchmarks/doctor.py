"""Does `plink doctor` name what is wrong first, and nothing where all is well?

Labs of drawn shapes, most with one fault each, the others healthy, half of these beside a busy loop
on every core. Each is measured with `plink probe --all` and then `plink doctor --live`. A fault is
named first if the first finding is of its kind and names its hosts, all of them and no others: a
host, the two of a pair, or those of a rack. Seeds count from --first-seed on. Files that are kept
with --keep can be judged again with --replay, without a lab.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchkit.arguments import numbers
from benchkit.doctor_cases import FAULTS, HEALTHY, DoctorCase, Truth, draw, inject_fault
from benchkit.labs import BenchLab, bench_lab
from benchkit.other_work import BUSY, QUIET, other_work
from benchkit.report import Report
from labkit.bound import BOUND
from labkit.registry import ROOT_REGISTRY, Registry
from plink.doctor.diagnosis import diagnose
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats import cluster as cluster_file

EXAMPLE = "--faults 13 --healthy 4 --first-seed 7000"
QUICK = "--faults 1 --healthy 1"
_NAMED, _FALSE_ALARMS = 27 / 30, 1 / 20
_PROBE = ("--all", "--passes", "2")
_HEADER = (
    *("seed", "fault", "racks; levels; links", "what was done", "named first"),
    *("findings", "first finding", "said to be", "s"),
)

# What a fault may be called.
_KINDS: Mapping[str, set[FindingKind]] = {
    "slow NIC": {FindingKind.SLOW_HOST},
    "slow one way": {FindingKind.SLOW_ONE_WAY},
    "lossy host": {FindingKind.LOSS},
    "policed host": {FindingKind.LOSS},
    "lossy pair": {FindingKind.LOSS},
    "policed pair": {FindingKind.LOSS},
    "busy processor": {FindingKind.BUSY},
    "half-duplex uplink": {FindingKind.HALF_DUPLEX},
    "other MTU": {FindingKind.MTU},
    "other congestion control": {FindingKind.CONGESTION_CONTROL},
    "uplink slow one way": {FindingKind.UPLINK_ONE_WAY},
    "cross traffic": {FindingKind.CONGESTED},
    "longer way": {FindingKind.FAR_HOST},
}


@dataclass(frozen=True)
class _Outcome:
    case: DoctorCase
    truth: Truth
    findings: Sequence[Finding]
    seconds: float

    @property
    def is_right(self) -> bool:
        """Return whether the fault is named first, or nothing is named where there is no fault."""
        if self.case.fault == HEALTHY:
            return not self.findings
        first = self.findings[0] if self.findings else None
        return (
            first is not None
            and first.kind in _KINDS[self.case.fault]
            and set(first.hosts) == set(self.truth.hosts)
        )

    def row(self) -> Sequence[object]:
        first = self.findings[0] if self.findings else None
        loaded = ", beside load" if self.case.is_loaded else ""
        return (
            self.case.seed,
            f"{self.case.fault}{loaded}",
            self.case,
            self.truth.what or "–",
            "yes" if self.is_right else "**no**",
            len(self.findings),
            "–" if first is None else f"{first.kind.value}: {' '.join(first.hosts)}",
            "–" if first is None else first.certainty,
            f"{self.seconds:.0f}",
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--faults", type=int, default=30, help="labs with a fault")
    parser.add_argument("--healthy", type=int, default=20, help="labs without one")
    parser.add_argument("--first-seed", type=int, default=1, help="of the labs")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="a folder for what was measured")
    parser.add_argument("--replay", metavar="DIR", type=Path, help="judge what --keep left there")
    parser.add_argument("--only", type=numbers, help="of the labs, from 0 on: 3,4")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Draw, break, measure, ask the doctor, compare."""
    outcomes: list[_Outcome] = []

    def rows() -> Iterator[Sequence[object]]:
        source = _replay_cases(arguments) if arguments.replay else _measure_cases(arguments)
        for outcome in source:
            outcomes.append(outcome)
            yield outcome.row()

    report.table(_HEADER, rows())
    ill = [outcome for outcome in outcomes if outcome.case.fault != HEALTHY]
    well = [outcome for outcome in outcomes if outcome.case.fault == HEALTHY]
    report.measured = [
        {**asdict(each.truth), "right": each.is_right, "seconds": each.seconds} for each in outcomes
    ]
    _tell_certainty(outcomes, report)
    if ill:
        named = sum(outcome.is_right for outcome in ill) / len(ill)
        report.at_least(f"faults named first, of {len(ill)}", _NAMED, named)
    if well:
        alarms = sum(not outcome.is_right for outcome in well) / len(well)
        report.at_most(f"false alarms, of {len(well)} healthy labs", _FALSE_ALARMS, alarms)


def _tell_certainty(outcomes: Sequence[_Outcome], report: Report) -> None:
    """Print how often the doctor's findings of each degree of certainty are right."""
    counts: dict[str, list[int]] = {}
    for outcome in outcomes:
        for finding in outcome.findings:
            is_right = finding.kind in _KINDS.get(outcome.case.fault, set()) and set(
                finding.hosts
            ) == set(outcome.truth.hosts)
            right_of = counts.setdefault(finding.certainty, [0, 0])
            right_of[0] += is_right
            right_of[1] += 1
    report.table(
        ("said to be", "findings", "right"),
        [(word, total, right) for word, (right, total) in sorted(counts.items())],
    )


def _cases(arguments: argparse.Namespace) -> list[DoctorCase]:
    kinds = list(FAULTS)
    first = arguments.first_seed
    ill = [draw(first + place, kinds[place % len(kinds)]) for place in range(arguments.faults)]
    well = [
        draw(first + arguments.faults + place, HEALTHY, is_loaded=place % 2 == 1)
        for place in range(arguments.healthy)
    ]
    return ill + well


def _measure_cases(arguments: argparse.Namespace) -> Iterator[_Outcome]:
    for place, case in enumerate(_cases(arguments)):
        if not arguments.only or place in arguments.only:
            yield _outcome(case, arguments.keep)


def _outcome(case: DoctorCase, keep: Path | None) -> _Outcome:
    with (
        tempfile.TemporaryDirectory(prefix="plink-doctor-") as folder,
        bench_lab(*case.options(Path(folder))) as lab,
        other_work(BUSY if case.is_loaded else QUIET),
        inject_fault(case, Registry(ROOT_REGISTRY).find(lab.name)) as truth,
    ):
        began_s = time.monotonic()
        examined = _examine(lab, truth)
        seconds = time.monotonic() - began_s
        cluster = cluster_file.read_cluster(str(examined))
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            stem = keep / f"{case.seed}"
            cluster_file.write_cluster(f"{stem}.json.gz", cluster)
            about = {"case": asdict(case), "truth": asdict(truth), "seconds": seconds}
            stem.with_suffix(".truth").write_text(json.dumps(about))
        return _Outcome(case, truth, diagnose(Evidence(cluster)), seconds)


def _examine(lab: BenchLab, truth: Truth) -> Path:
    """The file that the doctor leaves."""
    hosts = lab.dir / "hosts.txt"
    listed = [host for host in hosts.read_text().split() if host not in truth.hidden]
    hosts.write_text("\n".join([*listed, ""]))
    file, examined = lab.dir / "cluster.json", lab.dir / "examined.json"
    for words in (
        ("probe", hosts, *_PROBE, "-o", file),
        ("doctor", file, "--live", "-o", examined),
    ):
        argv = [*BOUND, sys.executable, "-m", "plink", *map(str, words)]
        # The doctor's exit code says whether it found anything, and probe's whether all is there.
        subprocess.run(
            [*argv, "-F", str(lab.dir / "ssh_config")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            check=False,
        )
    return examined


def _replay_cases(arguments: argparse.Namespace) -> Iterator[_Outcome]:
    for path in sorted(arguments.replay.glob("*.truth"), key=lambda path: int(path.stem)):
        about: dict[str, Any] = json.loads(path.read_text())
        case, truth = DoctorCase(**about["case"]), Truth(**about["truth"])
        cluster = cluster_file.read_cluster(str(path.with_suffix(".json.gz")))
        yield _Outcome(case, truth, diagnose(Evidence(cluster)), about["seconds"])
