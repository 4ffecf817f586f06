"""Changes of a proxy's YAML that keep its comments, order and format."""
