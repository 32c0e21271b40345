"""Optimizers whose steps a hub takes, the parameter service (`docs/hub-torch.md`)."""
