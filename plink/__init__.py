"""plink: find out how rented machines are wired, and make collective communication follow it.

`import plink` gives what the commands give, as functions (`docs/api.md`). Each is imported when it
is first used; `__init__.pyi` says the same to type checkers.
"""

import sys as _sys

__version__ = "0.1.0"

_HOMES = {
    "Cluster": "plink.api.cluster",
    "Diagnosis": "plink.api.diagnosing",
    "Groups": "plink.api.groups",
    "Order": "plink.api.order",
    "Plan": "plink.api.plan",
    "PlinkError": "plink.base.errors",
    "PlinkWarning": "plink.api.warning",
    "ProbeInterrupted": "plink.api.errors",
    "PlanPrediction": "plink.api.prediction",
    "Prediction": "plink.api.prediction",
    "Progress": "plink.api.progress",
    "SshOptions": "plink.probes.ssh.options",
    "WrongUseError": "plink.base.errors",
    "Verdict": "plink.api.checking",
    "algorithms": "plink.api.order",
    "check": "plink.api.checking",
    "diagnose": "plink.api.diagnosing",
    "group": "plink.api.groups",
    "launchers": "plink.api.order",
    "mpi_key": "plink.renumber.standalone",
    "order": "plink.api.order",
    "plan": "plink.api.plan",
    "predict": "plink.api.prediction",
    "probe": "plink.api.probing",
    "read": "plink.api.reading",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604  they are texts


class _MissingNative:
    """Finder that comes last, and says why a compiled module of plink is not found."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name.startswith("plink.") and name.endswith("._native"):
            raise ImportError(
                f"{__path__[0]} holds plink's source without its compiled modules: run "
                "`pip install .` there, and Python from another folder",
                name=name,
            )


_sys.meta_path.append(_MissingNative)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'plink' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  `import plink` alone imports nothing

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({name for name in globals() if name != "_HOMES"} | {*__all__})
