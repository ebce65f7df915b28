"""What is measured, and how: the judge of all models, the clocks, memory, small fits."""
