"""Maximum-margin training of chains and graphs: labellings collected in rounds, and their dual."""
