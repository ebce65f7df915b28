"""From checked data to objectives: coded targets, pairs of classes, queries, unknown noise."""
