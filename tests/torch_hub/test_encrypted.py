"""An optimizer at a hub that talks by TLS alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from engine.certificates import job
from plink.base.errors import PlinkError
from plink.transport.tls import Tls
from torch_hub.hubs import apart, examples, loss_of, model, running


def test_the_folder_may_be_given_or_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = job(tmp_path / "tls") + "/host"
    inputs, targets = examples()
    with running(tmp_path, Tls.of_folder(folder)) as place:
        learned = []
        for namespace, options in (("given", {"tls": folder}), ("named", {})):
            net = model()
            with place.hub(namespace, workers=1, **options) as hub:
                optimizer = hub.optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
                loss_of(net, inputs, targets).backward()
                optimizer.step()
            learned.append(net)
            monkeypatch.setenv("PLINK_TLS", folder)
        assert apart(*learned) == 0.0 < apart(learned[0], model())
        monkeypatch.delenv("PLINK_TLS")
        with (
            place.hub("given", workers=1) as hub,
            pytest.raises(PlinkError, match="speaks TLS, which this end was not told to"),
        ):
            hub.optimizer(torch.optim.SGD(model().parameters(), lr=0.1))
