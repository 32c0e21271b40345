"""Where an order that follows from the graph is left: behind the buffer up to which some rank is.

What a rank has begun others wait for, so all have to begin it; what no rank has begun can be agreed
on in another way. So all stop, the root asks how far each is, and all go on up to the farthest.
"""

from __future__ import annotations

from plink.training.control.graph_messages import Go, Progress, Report
from plink.training.control.pending import missing_text
from plink.training.control.ranks import Ranks
from plink.training.control.settings import Settings
from plink.training.control.shape import Place

# A rank that asks a little before its time is not told to ask again.
_LEEWAY_MS = 1


class Halts:
    """One rank's part: it gathers what all below it say.

    Args:
        place: in the tree.
        settings: of all.
    """

    def __init__(self, place: Place, settings: Settings) -> None:
        self._place = place
        self._settings = settings
        self._told: set[str] = set()
        self._reports: dict[int, Report] = {}
        self._is_open = False
        self.round = 0

    def forget(self) -> None:
        """Another graph holds."""
        self._is_open = False
        self.round = 0

    def open(self, number: int) -> bool:
        """This round begins. Returns whether it had not."""
        if number <= self.round:
            return False
        self.round = number
        self._reports = {}
        self._is_open = True
        return True

    def hear(self, child: int, report: Report) -> None:
        """What all below a child say."""
        if self._is_open and report.round == self.round:
            self._reports[child] = report

    def gathered(self, own: Report) -> Report | None:
        """What this rank and all below it say, once; None before that is known."""
        if not self._is_open or len(self._reports) < len(self._place.children):
            return None
        self._is_open = False
        whole = Report(own.graph, self.round, own.waited_ms, own.reason, dict(own.progress))
        for report in self._reports.values():
            whole.waited_ms = max(whole.waited_ms, report.waited_ms)
            whole.reason = whole.reason or report.reason
            for progress, ranks in report.progress.items():
                whole.progress[progress] = whole.progress.get(progress, Ranks()) | ranks
        return whole

    def decided(self, whole: Report, buffers: int) -> Go:
        """What the root tells all.

        Args:
            whole: what all ranks say.
            buffers: of an iteration.
        """
        begun = max(progress.begun for progress in whole.progress)
        reason = "" if whole.reason in self._told else whole.reason
        self._told.add(whole.reason)
        missing: dict[str, Ranks] = {}
        for progress, ranks in whole.progress.items():
            if progress.begun < begun:
                for name in progress.missing:
                    missing[name] = missing.get(name, Ranks()) | ranks
        warnings: tuple[str, ...] = ()
        failed = ""
        if whole.waited_ms + _LEEWAY_MS >= 1000.0 * self._settings.stall_warning_s:
            everyone = Ranks.below(self._place.ranks)
            waited_s = whole.waited_ms / 1000.0
            warnings = tuple(
                missing_text(name, waited_s, everyone - ranks, ranks)
                for name, ranks in missing.items()
            )
            error_s = self._settings.stall_error_s
            if warnings and error_s is not None and waited_s >= error_s:
                failed = f"{warnings[0]}; what they have begun without it cannot be taken back"
        if self._settings.is_deterministic and begun % buffers and not failed:
            failed = (
                f"{whole.reason or 'the graph does not hold'}; what shares a buffer would depend "
                "on timing now, which deterministic=True excludes"
            )
        return Go(whole.graph, whole.round, begun, reason, warnings, failed)


def progress_of(begun: int, missing: tuple[str, ...], rank: int) -> dict[Progress, Ranks]:
    """Of one rank."""
    return {Progress(begun, missing): Ranks.of([rank])}
