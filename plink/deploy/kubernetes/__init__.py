"""Kubernetes: tiers of the network as labels of nodes, manifests, figures of a measurement."""
