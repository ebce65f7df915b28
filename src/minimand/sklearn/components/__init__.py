"""Drop-ins for scikit-learn's decompositions: PCA, its relatives and the spectral embedding."""
