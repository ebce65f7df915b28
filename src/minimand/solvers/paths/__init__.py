"""One problem at many strengths of its penalty."""
