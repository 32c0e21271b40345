"""Base classes of plink's errors: one sentence, one hint, one exit code.

Exit codes: 0 done; 1 failed; 2 wrong use; 3 done in part (a result was written, some hosts or
pairs are missing and were named on stderr); 4 changed (`plink check` found that the file no
longer describes the network, `plink doctor` that something is wrong with it, `plink verify` that
the launcher did not keep the order, `plink autotune replay` that a log's decisions come out
differently); 130 interrupted before there was a result.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from plink.base.given_way import GivenWay

EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_PARTIAL = 3
EXIT_CHANGED = 4
EXIT_INTERRUPTED = 130


class PlinkError(Exception):
    """Base class of plink's errors, whose message is one sentence without a full stop.

    Args:
        message: what went wrong, naming the file, line or host.
        hint: what the user can do about it, or None; a traceback shows it as a note.
    """

    exit_code = EXIT_FAILED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        if hint is not None and hasattr(self, "add_note"):  # Python 3.11 and later
            self.add_note(f"hint: {hint}")


class WrongUseError(PlinkError):
    """Error by the user, such as an invalid option or file."""

    exit_code = EXIT_WRONG_USE


class NotMeasuredError(WrongUseError):
    """Error that a cluster lacks the requested measurement.

    Args:
        message, hint: as of every error.
        source: what messages call the cluster's file.
        tool: tool of `plink probe`, that measures it; None for the one that it takes by itself.
        way: how the hosts were reached, as the file has it.
    """

    def __init__(
        self,
        message: str,
        hint: str,
        *,
        source: str,
        tool: str | None = None,
        way: GivenWay | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.source = source
        self.tool = tool
        self.way = way


class NotJsonError(WrongUseError):
    """Error that a file of plink's is not JSON.

    Args:
        source: what messages call it.
        content: content of the file.
    """

    def __init__(self, source: str, content: bytes) -> None:
        super().__init__(f"{source}: is not JSON", "plink import reads CSV")
        self.source = source
        self.content = content


class PartialResultError(PlinkError):
    """Error that a result was written but lacks some hosts or pairs."""

    exit_code = EXIT_PARTIAL
