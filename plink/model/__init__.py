"""Model of a network as a cluster file describes it: distances, gaps, capacities, links."""
