"""What a network is, as a cluster file tells it: distances, gaps, capacities, links."""
