"""One problem at many values of alpha."""
