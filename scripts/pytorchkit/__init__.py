"""PyTorch's `DistributedTest`, on plink beside Gloo."""
