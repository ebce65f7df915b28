"""k-means, hard and soft: distances, seeding, Lloyd's algorithm, batches, lower bounds."""
