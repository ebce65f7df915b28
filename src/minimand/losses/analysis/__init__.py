"""What can be found out about a loss: is it convex, smooth, robust, calibrated."""
