"""Causes of the faults, each with the evidence that it had an effect."""
