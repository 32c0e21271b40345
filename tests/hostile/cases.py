"""What is tried: every line of a verb with every input in every place, and every option's value."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from hostile.supply import inputs, sample
from hostile.texts import NUMBERS, VALUES, WORDS
from hostile.valid import path_of
from hostile.verbs import OUTPUTS, VERBS

_SLOT = re.compile(r"\{(\w+)(>?)\}")
_LINK_TO_VALID = "valid"


@dataclass(frozen=True)
class Folders:
    """Where a case finds and leaves files, all of them in `root`."""

    root: Path

    @property
    def valid(self) -> Path:
        """The valid files."""
        return self.root / _LINK_TO_VALID

    @property
    def hostile(self) -> Path:
        """The hostile file."""
        return self.root / "in"

    @property
    def out(self) -> Path:
        """What a verb may write."""
        return self.root / "out"

    @property
    def here(self) -> Path:
        """The current folder."""
        return self.root / "cwd"

    @property
    def home(self) -> Path:
        """The user's."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """For temporary files."""
        return self.root / "tmp"

    def make(self) -> None:
        """Make them all."""
        for folder in (self.valid, self.hostile, self.out, self.here, self.home, self.temporary):
            folder.mkdir()


@dataclass(frozen=True)
class Case:
    """One invocation.

    Args:
        name: says the place and what is hostile in it.
        arguments: of plink; what they name is there after the call.
        may_write: whether the hostile value says where to write.
        may_start: whether it is the user's own word on what to run, as an SSH configuration is.
    """

    name: str
    arguments: Callable[[Folders], list[str]]
    may_write: bool = False
    may_start: bool = False


def cases(
    verb: str, command: click.Command, valid: Mapping[str, bytes], shares: int, seed: int
) -> Iterator[Case]:
    """Return a verb's lines with valid files, and a sample of its hostile cases.

    Args:
        verb: as its user writes it.
        command: what it is.
        valid: the content of the valid file of each kind.
        shares: one of so many cases is drawn, and one of the square of it where a field of a valid
            file is changed, which are very many.
        seed: of the draw, in which each verb has one of its own.
    """
    draw = random.Random(f"{seed} {verb}")
    seen: set[str] = set()
    for line in VERBS[verb]:
        yield Case(f"{line} with valid files", _filled(verb, line, {}))
        for place, (kind, mark) in enumerate(_SLOT.findall(line)):
            # The first file is what a line is about; the others, once a verb is enough.
            if kind == "out" or (place > 0 and kind in seen):
                continue
            seen.add(kind)
            for each in inputs(kind, valid[kind], draw, shares):
                arguments = _filled(verb, line, {kind: each.place})
                yield Case(
                    f"{line}: {kind}: {each.name}", arguments, bool(mark), kind == "ssh_config"
                )
    for parameter in command.params:
        yield from sample(_of_parameter(verb, parameter), draw, shares)


def _values(parameter: click.Parameter) -> Mapping[str, str]:
    if isinstance(parameter.type, (click.types.IntParamType, click.types.FloatParamType)):
        return NUMBERS
    is_word = isinstance(parameter.type, click.Choice) or getattr(parameter, "is_flag", False)
    return WORDS if is_word else VALUES


def _of_parameter(verb: str, parameter: click.Parameter) -> Iterator[Case]:
    """Every hostile value of one option or argument."""
    line = VERBS[verb][0]
    for name, value in _values(parameter).items():
        if isinstance(parameter, click.Option):
            # A flag takes no value, but somebody may give one.
            words = [f"{parameter.opts[-1]}={value}"] if value else [parameter.opts[-1], value]
            if not parameter.opts[-1].startswith("--"):
                words = [parameter.opts[-1], value]
            title = f"{parameter.opts[-1]}: {name}"
            yield Case(title, _filled(verb, line, {}, words), parameter.name in OUTPUTS)
        else:
            # A value that looks like an option is one, in place of the argument.
            may_write = value.startswith("-o")
            yield Case(
                f"{parameter.human_readable_name}: {name}",
                _filled(verb, line, {}, [value], drops_first=True),
                may_write,
            )


def _filled(
    verb: str,
    line: str,
    replaced: Mapping[str, Callable[[Path], str]],
    more: Sequence[str] = (),
    *,
    drops_first: bool = False,
) -> Callable[[Folders], list[str]]:
    def arguments(folders: Folders) -> list[str]:
        def path(kind: str, mark: str) -> str:
            if kind == "out":
                return str(folders.out / "result")
            place = folders.out if mark else folders.hostile
            if kind in replaced:
                return replaced[kind](place)
            if mark:
                copy = place / kind
                copy.write_bytes(path_of(kind, folders.valid).read_bytes())
                return str(copy)
            return str(path_of(kind, folders.valid))

        words = [_SLOT.sub(lambda found: path(found[1], found[2]), word) for word in line.split()]
        if drops_first:
            words = words[1:]
        place = words.index("--") if "--" in words else len(words)
        return [*verb.split(), *words[:place], *more, *words[place:]]

    return arguments
