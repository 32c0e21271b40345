"""Optimizers whose steps are taken at a hub, the parameter service (`docs/hub-torch.md`)."""
