"""What type checkers see of `plink`, whose functions are imported when they are first used."""

from plink.api.checking import Verdict as Verdict
from plink.api.checking import check as check
from plink.api.cluster import Cluster as Cluster
from plink.api.diagnosing import Diagnosis as Diagnosis
from plink.api.diagnosing import diagnose as diagnose
from plink.api.errors import ProbeInterrupted as ProbeInterrupted
from plink.api.groups import Groups as Groups
from plink.api.groups import group as group
from plink.api.order import Order as Order
from plink.api.order import algorithms as algorithms
from plink.api.order import launchers as launchers
from plink.api.order import order as order
from plink.api.plan import Plan as Plan
from plink.api.plan import plan as plan
from plink.api.prediction import PlanPrediction as PlanPrediction
from plink.api.prediction import Prediction as Prediction
from plink.api.prediction import predict as predict
from plink.api.probing import probe as probe
from plink.api.progress import Progress as Progress
from plink.api.reading import read as read
from plink.api.warning import PlinkWarning as PlinkWarning
from plink.base.errors import PlinkError as PlinkError
from plink.base.errors import WrongUseError as WrongUseError
from plink.probes.ssh.options import SshOptions as SshOptions
from plink.renumber.standalone import mpi_key as mpi_key

__version__: str
__all__: list[str]
