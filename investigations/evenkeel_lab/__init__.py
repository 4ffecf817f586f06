"""The lab: a real stack on demand, experiments on it, verdicts and reports."""
