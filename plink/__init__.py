"""plink: find out how rented machines are wired, and make collective communication follow it."""

__version__ = "0.1.0"
