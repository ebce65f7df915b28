"""Labelers of sequences and graphs."""
