"""The sections of a page, one in each file: a function of a session and of the figures that it has."""
