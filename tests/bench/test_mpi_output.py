import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import PlinkError
from plink.bench.clients.mpi_output import check_order, explain, is_timeout, parse_run

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


def test_a_whole_run() -> None:
    run = parse_run(WHOLE, repetitions=2)
    assert run.library == "MPICH Version: 4.0.2"
    assert run.hostnames == ["n06", "n09"]
    assert run.seconds == [0.25, 0.125]
    assert run.cpu_s == [0.5, 0.0]
    check_order(run, ["n06", "n09"])


@pytest.mark.parametrize("expected", [["n09", "n06"], ["n06"], ["n06", "n09", "n01"]])
def test_another_order_than_asked_for_is_an_error(expected: list[str]) -> None:
    with pytest.raises(PlinkError, match="rank"):
        check_order(parse_run(WHOLE, repetitions=2), expected)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("cpu 0.5", "cpu -1", "'plink-bench cpu -1', which cannot be"),
        ("wrong 0", "wrong 3", "3 elements of the sums are wrong"),
        ("plink-bench wrong 0\n", "", "reported 2 of 2 repetitions and then ended"),
        ("seconds 0.25", "seconds nan", "cannot be"),
        ("seconds 0.25", "seconds -1", "cannot be"),
        ("plink-bench seconds 0.25\n", "", "reported 1 of 2"),
        ("rank 1 n09", "rank 2 n09", "cannot be"),
        ("rank 1 n09", "rank 1 ", "cannot be"),
        ("rank 1 n09", "rank x n09", "cannot be"),
    ],
)
def test_anything_less_is_an_error(old: str, new: str, complaint: str) -> None:
    assert old in WHOLE
    with pytest.raises(PlinkError, match=complaint):
        parse_run(WHOLE.replace(old, new), repetitions=2)


def test_ranks_that_each_run_alone_are_told_as_such() -> None:
    alone = WHOLE.replace("plink-bench rank 1 n09\n", "")
    with pytest.raises(PlinkError, match="every rank started alone") as caught:
        parse_run(alone + alone.replace("n06", "n09"), repetitions=2)
    assert "Ubuntu 24.04" in (caught.value.hint or "")


@given(st.text(max_size=200).map(lambda text: WHOLE + "plink-bench " + text))
def test_no_output_ends_in_another_exception(text: str) -> None:
    try:
        run = parse_run(text, repetitions=2)
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
