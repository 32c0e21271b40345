"""A page of stories: what its reader types, and what is printed then.

Commands stand in indented blocks, after `$ `, with what they print below. Comments, which a reader
does not see, say the rest, each on a line of its own:

    <!-- lab: set n03 --rate 40mbit -->     what happens to the network before the next block
    <!-- says: ring order; vs random -->    words that the last command of the next block prints
    <!-- exit: 4 -->                        how it ends, if not with 0
    <!-- not run: needs Slurm -->           why the next block is not run here
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

INDENT = "    "
_COMMENT = re.compile(r"<!-- (lab|says|exit|not run): (.*) -->")


@dataclass
class Command:
    """What is typed, the lines that it printed, and where those stand in the page."""

    line: str
    begin: int
    end: int
    output: list[str] = field(default_factory=list)


@dataclass
class Block:
    """Commands that stand together, and what the comments before them say."""

    story: str
    commands: list[Command] = field(default_factory=list)
    lab: list[str] = field(default_factory=list)
    says: list[str] = field(default_factory=list)
    exit: int = 0
    not_run: str = ""


def blocks(page: str) -> list[Block]:
    """The blocks of a page that have commands, in order."""
    return [block for block in _blocks(page.splitlines()) if block.commands]


def _blocks(lines: list[str]) -> Iterator[Block]:
    block = Block(story := "")
    for number, line in enumerate(lines):
        if line.startswith(f"{INDENT}$ "):
            block.commands.append(Command(line.removeprefix(f"{INDENT}$ "), number + 1, number + 1))
        elif block.commands and (line.startswith(INDENT) or not line.strip()):
            command = block.commands[-1]
            command.output.append(line.removeprefix(INDENT))
            if line.strip():
                command.end = number + 1
        else:
            if block.commands:
                yield _trimmed(block)
                block = Block(story)
            if line.startswith("## "):
                story = line.removeprefix("## ")
                block.story = story
            if found := _COMMENT.fullmatch(line.strip()):
                _note(block, *found.groups())
    yield _trimmed(block)


def _trimmed(block: Block) -> Block:
    for command in block.commands:
        del command.output[command.end - command.begin :]
    return block


def _note(block: Block, key: str, value: str) -> None:
    match key:
        case "lab":
            block.lab.append(value)
        case "says":
            block.says += [words.strip() for words in value.split(";")]
        case "exit":
            block.exit = int(value)
        case "not run":
            block.not_run = value


def with_outputs(page: str, found: list[Block]) -> str:
    """The page with what the commands of these blocks have printed now."""
    lines = page.splitlines()
    commands = [command for block in found for command in block.commands]
    for command in sorted(commands, key=lambda command: -command.begin):
        lines[command.begin : command.end] = [f"{INDENT}{line}".rstrip() for line in command.output]
    return "\n".join(lines) + "\n"
