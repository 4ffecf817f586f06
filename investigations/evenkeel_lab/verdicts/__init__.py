"""Verdicts: from pairs of runs to one of five honest sentences. Pure: numbers in, values out."""
