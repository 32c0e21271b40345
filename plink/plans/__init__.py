"""Plans of aggregation as weighted forests. A process that trains imports this, so numpy only."""
