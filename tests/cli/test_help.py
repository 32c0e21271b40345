import json
import random
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from plink import __version__
from plink.cli import COMMANDS, LazyGroup, cli, run
from support.seeds import with_seeds


def find(name: str) -> click.Command:
    """The command of that name, or of two words the verb of a command."""
    command: click.Command | None = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return command


def commands() -> list[str]:
    """The commands that can be imported, and their verbs."""
    found = []
    for name in COMMANDS:
        try:
            command = find(name)
        except ImportError:
            continue
        found.append(name)
        if isinstance(command, click.Group):
            found += [f"{name} {verb}" for verb in command.list_commands(click.Context(command))]
    return found


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import json, sys\n"
        "from plink.cli import run\n"
        "code = run(['--help'])\n"
        "print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stderr)
    assert code == 0
    heavy = {"numpy", "scipy", "paramiko", "rich", "torch", "plink.solvers"}
    assert not heavy & set(modules)
    ours = {name for name in modules if name.startswith("plink.")} - {"plink.probes"}
    assert ours == {
        *("plink.measure", "plink.measure.errors"),
        *("plink.cli", "plink.cli.hints", "plink.cli.stderr"),
        "plink.probes.errors",
        *(
            "plink.base",
            "plink.base.errors",
            "plink.base.interrupts",
            "plink.base.lazy",
            "plink.base.next_command",
            "plink.base.output",
            "plink.base.text",
        ),
    }


@pytest.mark.parametrize("arguments", [[], ["autotune"]])
def test_a_command_without_its_verb_prints_its_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"Usage: {' '.join(['plink', *arguments])} ")
    assert "\n  -h, --help " in err


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in listed
        assert text.split(".")[0] in " ".join(listed.split())
    assert "Example: plink " in listed


def test_every_command_has_an_example_and_explains_its_options() -> None:
    for name in commands():
        command = find(name)
        assert command.epilog is not None
        assert f"Example: plink {name} " in " ".join(command.epilog.split())
        assert command.help
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"


# What --help prints is held in tests/contract.
def test_every_command_helps(capsys: pytest.CaptureFixture[str]) -> None:
    for name in commands():
        assert run([*name.split(), "-h"]) == 0
        assert f"Example: plink {name}" in " ".join(capsys.readouterr().out.split())


def test_the_commands_of_this_folder_exist() -> None:
    assert {"show", "import", "export"} <= set(commands())
    assert isinstance(cli, LazyGroup)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["conquer"], "error: there is no command 'conquer'\nhint: plink --help\n"),
        (["oder"], "error: there is no command 'oder'\nhint: did you mean order?\n"),
        (["order"], "error: missing argument 'CLUSTER'\nhint: plink order --help\n"),
        (["show", "a", "b"], "error: got unexpected extra argument (b)\nhint: plink show --help\n"),
        (
            ["show", *"abcdefg"],
            (
                "error: got unexpected extra arguments (b, c, d and 3 others)\n"
                "hint: plink show --help\n"
            ),
        ),
    ],
)
def test_wrong_use_is_said_like_every_error(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr() == ("", said)


def float_options() -> list[tuple[str, str]]:
    """Every option of every command that takes a number with a point."""
    found = []
    for name in commands():
        for parameter in find(name).params:
            if isinstance(parameter.type, click.types.FloatParamType):
                found.append((name, parameter.opts[0]))
    return found


@with_seeds(1, 20)
def test_a_number_is_finite(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(seed)
    for name, option in float_options():
        value = draw.choice(["nan", "inf", "-inf", "-nan"])
        assert run([*name.split(), f"{option}={value}"]) == 2, (name, option, value)
        assert f"error: invalid value for '{option}'" in capsys.readouterr().err


def test_every_command_with_floats_is_tested() -> None:
    named = {"autotune", "completion", "plan", "predict", "report", "run", "schema", "timeline"}
    assert {name.partition(" ")[0] for name, _ in float_options()} == set(COMMANDS) - named


def test_the_shell_completes_verbs() -> None:
    completer = ShellComplete(cli, {}, "plink", "_PLINK_COMPLETE")
    found = {item.value for item in completer.get_completions(["autotune"], "")}
    assert {"serve", "attach", "replay"} <= found
    options = {item.value for item in completer.get_completions(["autotune", "replay"], "--")}
    assert {"--all", "--json"} <= options


def test_python_m_plink(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "plink", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"plink, version {__version__}\n"
