"""How a page of stories is read."""

from __future__ import annotations

from stories.page import blocks, with_outputs

PAGE = """\
# Stories

## One

Do this:

<!-- lab: set n03 --rate 40mbit -->
<!-- says: two; three -->
    $ one
    two

    three
    $ four

Then that:

<!-- exit: 4 -->
    $ five
    six

## Two

<!-- not run: no Slurm -->
    $ seven
"""


def test_blocks_have_their_commands_and_comments() -> None:
    one, five, seven = blocks(PAGE)
    assert [command.line for command in one.commands] == ["one", "four"]
    assert one.commands[0].output == ["two", "", "three"]
    assert one.commands[1].output == []
    assert (one.lab, one.says, one.exit) == (["set n03 --rate 40mbit"], ["two", "three"], 0)
    assert (five.story, five.exit, five.commands[0].output) == ("One", 4, ["six"])
    assert (seven.story, seven.not_run) == ("Two", "no Slurm")


def test_a_page_with_the_same_outputs_is_the_same() -> None:
    assert with_outputs(PAGE, blocks(PAGE)) == PAGE


def test_outputs_are_replaced() -> None:
    found = blocks(PAGE)
    found[0].commands[0].output = ["new"]
    found[1].commands[0].output = []
    page = with_outputs(PAGE, found)
    assert "    $ one\n    new\n    $ four\n" in page
    assert "    $ five\n\n## Two" in page
