"""Live page of a running proxy, for its admins: one HTML file, and the stream of events that it shows."""
