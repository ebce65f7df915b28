"""Questions about any model on any data: how good is it, who could fit it, what is its dual."""
