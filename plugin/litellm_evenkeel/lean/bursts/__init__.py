"""Requests that come together: changes that let them pass together, instead of one in each turn of the event loop."""
