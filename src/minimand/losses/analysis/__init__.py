"""Facts about losses: convex, smooth, robust, calibrated."""
