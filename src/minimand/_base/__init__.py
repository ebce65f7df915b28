"""What all packages use: array types, parameters, short names, wording, threads, time limits."""
