"""Writers of launchers' own files: hosts in rank order in, the text of a file out."""

from __future__ import annotations

from plink.launchers import env, hosts, mpich, openmpi, openmpi_rankfile, torchrun
from plink.launchers.format import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (hosts, openmpi, openmpi_rankfile, mpich, torchrun, env)
}
