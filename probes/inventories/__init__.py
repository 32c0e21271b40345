"""Host lists that other programs have: they are asked, or what they wrote is read."""
