"""Two sets of runs, set against each other: what each run showed, and what may be said of the difference."""
