"""Collective algorithms as libraries implement them: messages by round, with sizes."""
