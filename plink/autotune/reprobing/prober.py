"""Knowledge of the network, renewed by probing hosts again. For all jobs of a daemon.

It blocks, and is called in threads.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from plink.autotune.reprobing.measuring import Measured, Quiesce, measure_again
from plink.autotune.reprobing.replanning import Replanned, cluster_of, replan
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.base.text import format_count
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.plan import Plan
from plink.probes.reach import Way

_MOST_NAMED = 3


@dataclass(frozen=True)
class Probed:
    """Result of probing again.

    Args:
        replanned: a plan, or None, and why.
        cluster: what is known now.
        how: how it was measured, half a sentence.
        warnings: what is missing, a sentence each.
    """

    replanned: Replanned
    cluster: Cluster
    how: str
    warnings: Sequence[str]


class Prober:
    """Probes hosts of one cluster file again.

    Args:
        cluster: what is known.
        source: where it comes from, for errors.
        output: the file that is renewed; None for none.
        way: how hosts are reached.
    """

    def __init__(self, cluster: Cluster, source: str, output: str | None, way: Way) -> None:
        self._first = self._cluster = cluster
        self._source, self._output, self._way = source, output, way
        self._one_at_a_time = threading.Lock()

    def check(self, plan: Plan) -> None:
        """Refuse a job with hosts that are not in the cluster.

        Raises:
            PlinkError: one is not.
        """
        cluster_of(plan, self._cluster)

    def probe(
        self, plan: Plan, before: Cluster | None, hosts: Collection[str], quiesce: Quiesce
    ) -> Probed:
        """Measure what concerns these hosts again, renew the file, and see what that changes.

        Args:
            plan: of the job.
            before: what was known when that plan was made, whatever was measured since for this job
                or others; None for what there was at first.
            hosts: names.
            quiesce: pauses training.

        Raises:
            PlinkError, ProbesError: nothing could be measured.
        """
        with self._one_at_a_time:
            known = self._cluster
            done = measure_again(known, self._source, hosts, self._way, quiesce)
            found = done.found
            # A plan that is not to be had does not cost what was measured.
            self._cluster = replace(found.cluster, made_from=known.made_from)
            warnings = _warnings(done)
            if self._output is not None:
                try:
                    cluster_file.write_cluster(self._output, self._cluster)
                except PlinkError as error:
                    warnings.append(str(error))
            replanned = replan(plan, before or self._first, self._cluster, found.moved)
            return Probed(replanned, self._cluster, _how(done), warnings)


def _how(done: Measured) -> str:
    how = f"{format_count(len(done.reached), 'host')} probed again in {done.seconds:.1f} s"
    if done.paused_s <= 0.0:
        return f"{how} while training ran"
    if done.is_paused:
        return f"{how} while training was paused"
    if done.seconds > done.paused_s:
        return f"{how}, with training paused for {done.paused_s:.0f} s"
    return f"{how}, and training resumed meanwhile"


def _warnings(done: Measured) -> list[str]:
    warnings = list(done.unreachable[:_MOST_NAMED])
    if len(done.unreachable) > _MOST_NAMED:
        rest = len(done.unreachable) - _MOST_NAMED
        warnings.append(f"{format_count(rest, 'host')} more cannot be reached")
    warnings += done.without
    if not done.has_rates:
        warnings.append("not all that links carry was measured again while training was paused")
    pairs = [each for each in done.failures if each.destination is not None]
    if pairs:
        warnings.append(
            f"{format_count(len(pairs), 'directed pair')} could not be measured, the first "
            f"{pairs[0].source} to {pairs[0].destination}: {pairs[0].reason}"
        )
    return warnings
