from pytorch import parallel_checks as checks
from pytorch.processes import results


def test_x(tmp_path):
    for r in results(checks.like_ddp, 3, tmp_path):
        print(r)
