"""The MPI program: compiled, put on hosts, and what it and its launchers print."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.local_sessions import LocalSession
from plink.base.errors import PlinkError
from plink.bench.clients.mpi_program import (
    MpiProgram,
    check_order,
    compile_program,
    complete_report,
    explain,
    find_tool,
    install,
    is_timeout,
    parse_report,
)
from plink.probes.errors import HostError
from plink.probes.remote.upload import Program

WHOLE = """\
some library's chatter
plink-bench library MPICH Version:\t4.0.2
plink-bench rank 0 n06
plink-bench rank 1 n09
plink-bench seconds 0.25
plink-bench cpu 0.5
plink-bench seconds 0.125
plink-bench cpu 0
plink-bench wrong 0
"""

OPEN_MPI_DEATH = """\
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 2 with PID 0 on node n01 exited on signal 9 (Killed).
--------------------------------------------------------------------------
"""

HYDRA_DEATH = """\

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 26337 RUNNING AT n06
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
"""


def put(program: MpiProgram, helper: str = "sh") -> None:
    session: object = LocalSession("h1")
    install(session, program, helper, "Some MPI", "some-mpi")  # type: ignore[arg-type]


@pytest.mark.needs("mpi")
@pytest.mark.parametrize("compiler", ["mpicc.openmpi", "mpicc.mpich"])
def test_the_program_is_compiled_and_stored_once_under_its_hash(
    compiler: str, tmp_path: Path
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    folder = tmp_path / "it's a cache"
    program = compile_program(compiler, tmp_path, str(folder))
    put(program)
    stored = folder / program.executable.file_name
    assert stored.read_bytes() == program.executable.content
    assert stored.stat().st_mode & 0o777 == 0o700
    before = stored.stat().st_ino
    put(program)
    assert stored.stat().st_ino == before
    assert [file.name for file in folder.iterdir()] == [stored.name]
    assert compile_program(compiler, tmp_path, None).executable == program.executable
    assert subprocess.run(program.command([]), check=False).returncode == 2


def test_a_host_without_the_client_is_named_with_its_packages() -> None:
    with pytest.raises(HostError, match="Some MPI is not installed there") as caught:
        put(MpiProgram(Program("x", b""), None), helper="no-such-helper")
    assert caught.value.host == "h1"
    assert caught.value.hint == "install some-mpi on every host"


def test_a_program_without_its_library_means_that_the_client_is_missing(tmp_path: Path) -> None:
    text = b"#!/bin/sh\necho x: error while loading shared libraries: libmpi.so.40 >&2; exit 127\n"
    with pytest.raises(HostError, match=r"Some MPI is not installed there .*libmpi\.so\.40"):
        put(MpiProgram(Program("x", text), str(tmp_path)))


@pytest.mark.parametrize(
    ("content", "folder"),
    [(b"#!/bin/sh\nexit 0\n", "/dev/null/cache"), (b"#!/nowhere/sh\n", None)],
)
def test_a_folder_that_takes_no_program(content: bytes, folder: str | None, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="x cannot be copied there") as caught:
        put(MpiProgram(Program("x", content), folder or str(tmp_path)))
    assert caught.value.options == ("remote_cache",)


def test_tools_that_are_missing_here() -> None:
    assert find_tool(None, ["no-such-tool", "sh"], "Some MPI", "some-mpi") == "sh"
    with pytest.raises(PlinkError, match="no no-such-tool and neither-this"):
        find_tool(None, ["no-such-tool", "neither-this"], "Some MPI", "some-mpi")
    with pytest.raises(PlinkError, match="no mine"):
        find_tool("mine", ["sh"], "Some MPI", "some-mpi")


def test_a_whole_run() -> None:
    run = parse_report(WHOLE, repetitions=2)
    assert run.library == "MPICH Version: 4.0.2"
    assert run.hostnames == ["n06", "n09"]
    assert run.seconds == [0.25, 0.125]
    assert run.cpu_s == [0.5, 0.0]
    check_order(run, ["n06", "n09"])


def test_a_complete_report_counts_however_the_launcher_ended() -> None:
    assert complete_report(1, WHOLE + HYDRA_DEATH, 2) == parse_report(WHOLE, 2)
    cut = WHOLE.replace("plink-bench wrong 0\n", "")
    assert complete_report(1, cut + HYDRA_DEATH, 2) is None
    with pytest.raises(PlinkError, match="reported 2 of 2 repetitions and then ended"):
        complete_report(0, cut, 2)


@pytest.mark.parametrize("expected", [["n09", "n06"], ["n06"], ["n06", "n09", "n01"]])
def test_another_order_than_asked_for_is_an_error(expected: list[str]) -> None:
    with pytest.raises(PlinkError, match="rank"):
        check_order(parse_report(WHOLE, repetitions=2), expected)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("cpu 0.5", "cpu -1", "'plink-bench cpu -1', which is not valid"),
        ("wrong 0", "wrong 3", "3 elements of the sums are wrong"),
        ("plink-bench wrong 0\n", "", "reported 2 of 2 repetitions and then ended"),
        ("seconds 0.25", "seconds nan", "is not valid"),
        ("seconds 0.25", "seconds -1", "is not valid"),
        ("plink-bench seconds 0.25\n", "", "reported 1 of 2"),
        ("rank 1 n09", "rank 2 n09", "is not valid"),
        ("rank 1 n09", "rank 1 ", "is not valid"),
        ("rank 1 n09", "rank x n09", "is not valid"),
    ],
)
def test_anything_less_is_an_error(old: str, new: str, complaint: str) -> None:
    assert old in WHOLE
    with pytest.raises(PlinkError, match=complaint):
        parse_report(WHOLE.replace(old, new), repetitions=2)


def test_ranks_that_each_run_alone_are_told_as_such() -> None:
    alone = WHOLE.replace("plink-bench rank 1 n09\n", "")
    with pytest.raises(PlinkError, match="every rank started alone") as caught:
        parse_report(alone + alone.replace("n06", "n09"), repetitions=2)
    assert "Ubuntu 24.04" in (caught.value.hint or "")


@given(st.text(max_size=200).map(lambda text: WHOLE + "plink-bench " + text))
def test_no_output_ends_in_another_exception(text: str) -> None:
    try:
        run = parse_report(text, repetitions=2)
    except PlinkError:
        return
    assert len(run.seconds) == 2


MPICH_ABORT = """\
Abort(810095375) on node 1 (rank 1 in comm 0): Fatal error in internal_Allreduce: Other MPI error
internal_Allreduce(128)...........................: MPI_Allreduce(sendbuf=0x7f8) failed
MPID_Allreduce(152)...............................:
MPIDI_UCX_send(83)................................:  returned failed request (Endpoint timeout)
"""

UCX_CRASH = "[n01:28231:0:28231] Caught signal 11 (Segmentation fault: address not mapped)\n==== x"


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (OPEN_MPI_DEATH, "n01: its MPI rank ended (exited on signal 9 (Killed))"),
        (UCX_CRASH + HYDRA_DEATH, "n06: its MPI rank ended (EXIT CODE: 9)"),
        (UCX_CRASH, "n01: its MPI rank ended (Caught signal 11 (Segmentation fault)"),
        (MPICH_ABORT, "n09: MPI gave up there (returned failed request (Endpoint timeout))"),
    ],
)
def test_the_host_whose_rank_died_is_named(told: str, sentence: str) -> None:
    assert str(explain("mpirun", 137, told, ["n06", "n09"])) == sentence


def test_other_errors_are_told_in_one_line() -> None:
    error = explain("mpirun", 1, "-----\nThere are not enough slots\navailable\n\n-----\n", [])
    assert str(error) == "mpirun ended with status 1: There are not enough slots available"
    assert "it said nothing" in str(explain("mpirun", 1, "", []))


@given(st.text(max_size=200), st.lists(st.just("n"), max_size=3))
def test_whatever_it_says_is_one_line(told: str, hostnames: list[str]) -> None:
    assert len(str(explain("mpirun", 1, told, hostnames)).splitlines()) == 1


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ("rank 2 with PID 0 on node n01 exited on signal 14 (Alarm clock).", True),
        ("=   EXIT CODE: 14\n", True),
        (OPEN_MPI_DEATH, False),
        (HYDRA_DEATH, False),
    ],
)
def test_the_programs_own_alarm_is_a_timeout(errors: str, *, expected: bool) -> None:
    assert is_timeout(errors) is expected
