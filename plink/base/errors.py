"""Base classes of plink's errors: each has one sentence, a hint and an exit code.

Exit codes: 0 done; 1 failed; 2 wrong use; 3 done in part (a result was written, some hosts or
pairs are missing and were named on stderr); 4 changed (`plink check` found that the file no
longer describes the network, `plink doctor` that something is wrong with it, `plink verify` that
the launcher did not keep the order, `plink autotune replay` that a log's decisions come out
differently); 130 interrupted before there was a result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from plink.base.given_way import GivenWay

EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_PARTIAL = 3
EXIT_CHANGED = 4
EXIT_INTERRUPTED = 130

# Returns the spelling of an argument's name and value, or of the name alone if that is None.
Speller = Callable[[str, "str | None"], str]

_MARK = re.compile(r"\{([a-z][a-z0-9_]*)(=?)([^{}]*)\}")


class PlinkError(Exception):
    """Base class of plink's errors, whose message is one sentence without a full stop.

    Args:
        message: what went wrong, naming the file, line or host.
        hint: what the user can do about it, or None; a traceback shows it as a note.
        arguments: values of the arguments that message and hint name, by the library's names.
            Their marks (`spell_arguments`) are spelled as Python code has them, unless a caller
            spells them otherwise.
    """

    exit_code = EXIT_FAILED

    def __init__(
        self,
        message: str,
        hint: str | None = None,
        *,
        arguments: Mapping[str, object] | None = None,
    ) -> None:
        self.arguments = dict(arguments or {})
        self._templates = message, hint
        message, self.hint = self.spell(spell_keyword)
        super().__init__(message)
        if self.hint is not None and hasattr(self, "add_note"):  # Python 3.11 and later
            self.add_note(f"hint: {self.hint}")

    def spell(self, spell: Speller) -> tuple[str, str | None]:
        """Return message and hint, with arguments named as the caller types them.

        Args:
            spell: returns the text for an argument's name and value; the value is None where the
                name stands alone.
        """
        message, hint = self._templates
        return (
            spell_arguments(message, self.arguments, spell),
            hint and spell_arguments(hint, self.arguments, spell),
        )


def spell_arguments(text: str, arguments: Mapping[str, object], spell: Speller) -> str:
    """Replace placeholders of arguments in a message, as `{ranks}`, by what users type: `--ranks`.

    Args:
        text: text with `{ranks}` for a name, `{ranks=}` for a name and its value, or `{ranks=8}`
            for a name and this value. Other braces stay.
        arguments: values by name.
        spell: returns the spelling of a name and a value, or of a name alone if it is None.
    """

    def replace(mark: re.Match[str]) -> str:
        name, equals, value = mark.groups()
        if name not in arguments:
            return mark[0]
        if not equals:
            return spell(name, None)
        known = arguments[name]
        return spell(name, value or (f"{known:g}" if isinstance(known, float) else str(known)))

    return _MARK.sub(replace, text)


def spell_keyword(name: str, value: str | None) -> str:
    """Return an argument as Python code has it: `ranks`, or `ranks=8`."""
    return name if value is None else f"{name}={value}"


def option_speller(flags: Mapping[str, str], bare: Collection[str] = ()) -> Speller:
    """Return a function that spells an argument and its value as a command's option: `--ranks 8`.

    Args:
        flags: options by the names of the arguments; what is not there is spelled as in Python.
        bare: names of the options without a value.
    """

    def spell(name: str, value: str | None) -> str:
        flag = flags.get(name)
        if flag is None:
            return spell_keyword(name, value)
        return flag if value is None or name in bare else f"{flag} {value}"

    return spell


class WrongUseError(PlinkError):
    """Error that the user's input is wrong, such as an invalid option or file."""

    exit_code = EXIT_WRONG_USE


class NotMeasuredError(WrongUseError):
    """Error that a cluster lacks the measurement that a command needs, such as bandwidths.

    Args:
        message, hint: what is wrong, and what to do about it.
        source: what messages call the cluster's file.
        tool: tool of `plink probe` that measures it; None for the default one.
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
    """Error that a file which should be one of plink's is not JSON.

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
