"""Simulated annealing of rank orders under the latency cost of rounds, trees and meshes."""
