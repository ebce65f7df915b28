"""From what a user passes to arrays: every bad input is refused in one sentence."""
