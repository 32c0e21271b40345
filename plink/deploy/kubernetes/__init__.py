"""Kubernetes integration: node labels for network tiers, manifests, Prometheus metrics."""
