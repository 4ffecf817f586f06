"""The server: connections, deliveries, admin routes and worker processes."""
