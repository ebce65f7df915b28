"""Drop-ins for scikit-learn's kernel machines: SVC, NuSVC, SVR, NuSVR and OneClassSVM."""
