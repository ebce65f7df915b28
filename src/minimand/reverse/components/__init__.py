"""Components: PCA and its kernel and normalised forms, free outputs of the reverse form."""
