"""Gradients in one pool, cut into collectives that overlap with the backward pass.

A pool (`pool`) holds all gradients of one type and device in one order; posting (`posting`) sends
its slices as they fill, in an order that is the same on all ranks; `parallel` is the module around
the user's that ties both together.
"""
