"""Sessions: pairs of runs of several arms, side by side or in turns, until the last look or a verdict."""
