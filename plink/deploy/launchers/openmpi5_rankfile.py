"""Open MPI 5: the rankfile of 4.1, with the hosts beside it, which 5 does not take from it."""

from __future__ import annotations

from plink.deploy.launchers import openmpi_rankfile
from plink.deploy.launchers.format import Format

FORMAT = Format(
    name="openmpi5-rankfile",
    about="Open MPI 5: rankfile, which binds each rank to a core",
    usage="mpirun -np RANKS --host \"$(sed 's/.*=\\(.*\\) .*/\\1/' FILE | paste -sd,)\" "
    "--map-by rankfile:file=FILE PROGRAM",
    render=openmpi_rankfile.render,
)
