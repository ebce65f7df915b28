"""What every room needs: array types, parameters, names, sentences, threads, limits of time."""
