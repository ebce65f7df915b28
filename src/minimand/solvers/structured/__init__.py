"""Training of structured outputs."""
