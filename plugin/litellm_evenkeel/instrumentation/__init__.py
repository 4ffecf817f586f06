"""Definition, label limits and export of the plugin's own metrics."""
