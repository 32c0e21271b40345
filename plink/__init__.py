"""plink: find out how rented machines are wired, and make collective communication follow it.

`import plink` gives what the commands give, as functions (`docs/api.md`). Each is imported when it
is first used; `__init__.pyi` says the same to type checkers.
"""

import sys as _sys

__version__ = "0.1.0"

_HOMES = {
    "MeasuredCluster": "plink.verbs.cluster",
    "Diagnosis": "plink.verbs.doctor",
    "Groups": "plink.verbs.group",
    "RankOrder": "plink.verbs.order",
    "AggregationPlan": "plink.verbs.plan",
    "PlinkError": "plink.base.errors",
    "PlinkWarning": "plink.verbs.common",
    "ProbeInterrupted": "plink.verbs.probe",
    "PlanPrediction": "plink.verbs.predict",
    "Prediction": "plink.verbs.predict",
    "Progress": "plink.base.progress",
    "SshOptions": "plink.probes.options",
    "WrongUseError": "plink.base.errors",
    "Verdict": "plink.verbs.check",
    "algorithms": "plink.verbs.order",
    "check": "plink.verbs.check",
    "diagnose": "plink.verbs.doctor",
    "group": "plink.verbs.group",
    "launchers": "plink.verbs.order",
    "mpi_key": "plink.renumber.standalone",
    "order": "plink.verbs.order",
    "plan": "plink.verbs.plan",
    "predict": "plink.verbs.predict",
    "probe": "plink.verbs.probe",
    "read": "plink.verbs.read",
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
