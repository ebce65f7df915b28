"""How results are written down: RESULTS.md, and the pages in results/."""
