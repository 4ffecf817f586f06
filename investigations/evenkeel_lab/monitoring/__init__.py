"""Alert rules for Prometheus and a dashboard for Grafana, generated from what the plugin's metrics mean."""
