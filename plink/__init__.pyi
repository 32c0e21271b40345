"""What type checkers see of `plink`, whose functions are imported when they are first used."""

from plink.base.errors import PlinkError as PlinkError
from plink.base.errors import WrongUseError as WrongUseError
from plink.base.progress import Progress as Progress
from plink.probes.options import SshOptions as SshOptions
from plink.renumber.standalone import mpi_key as mpi_key
from plink.verbs.check import Verdict as Verdict
from plink.verbs.check import check as check
from plink.verbs.cluster import MeasuredCluster as MeasuredCluster
from plink.verbs.common import PlinkWarning as PlinkWarning
from plink.verbs.doctor import Diagnosis as Diagnosis
from plink.verbs.doctor import diagnose as diagnose
from plink.verbs.group import Groups as Groups
from plink.verbs.group import group as group
from plink.verbs.order import RankOrder as RankOrder
from plink.verbs.order import algorithms as algorithms
from plink.verbs.order import launchers as launchers
from plink.verbs.order import order as order
from plink.verbs.plan import AggregationPlan as AggregationPlan
from plink.verbs.plan import plan as plan
from plink.verbs.predict import PlanPrediction as PlanPrediction
from plink.verbs.predict import Prediction as Prediction
from plink.verbs.predict import predict as predict
from plink.verbs.probe import ProbeInterrupted as ProbeInterrupted
from plink.verbs.probe import probe as probe
from plink.verbs.read import read as read

__version__: str
__all__: list[str]
