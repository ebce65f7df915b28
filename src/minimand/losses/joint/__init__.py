"""Losses of several scores or rows at once: classes, outputs, quantiles, pairs of items."""
