"""Command templates that reach a host, such as `kubectl exec -i {host} --`. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from plink.probes.errors import OptionError

_HOST = "{host}"
_COMMAND = "{command}"
_HINT = "write it as in via='kubectl exec -i {host} --'"


@dataclass(frozen=True)
class Template:
    """Words of a command template; no local shell ever parses them."""

    words: tuple[str, ...]

    def argv(self, host: str, command: str) -> list[str]:
        """Return the words that run a shell command on a host.

        Where the template has `{command}`, one word stands there, as `ssh` and all that join their
        words need it: `sh -c COMMAND`, quoted for a shell. Else the words `sh`, `-c` and the
        command follow, as `docker exec`, `kubectl exec` and `srun` need them.
        """
        shell = ["sh", "-c", command]
        filled = [
            word.replace(_HOST, host).replace(_COMMAND, shlex.join(shell)) for word in self.words
        ]
        return filled if any(_COMMAND in word for word in self.words) else [*filled, *shell]


def parse_template(text: str) -> Template:
    """Return the template in a text, split into words as a shell does.

    Raises:
        OptionError: an unclosed quote, no `{host}`, or nothing to start.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        reason = str(error).lower()
        raise OptionError(f"the command {text!r} cannot be understood ({reason})", _HINT) from None
    if not any(_HOST in word for word in words):
        raise OptionError(f"the command {text!r} does not contain {_HOST}", _HINT)
    if not text.isprintable():
        raise OptionError(f"the command {text!r} has control characters", _HINT)
    return Template(tuple(words))
