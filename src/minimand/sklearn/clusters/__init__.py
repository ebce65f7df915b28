"""Drop-ins for scikit-learn's clusterings."""
