"""What groups of hosts can exchange with each other, all their hosts at once."""
