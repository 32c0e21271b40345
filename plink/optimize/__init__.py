"""What follows from a measured network: groups, orders, plans, predictions."""
