"""Work that LiteLLM does for each deployment with each request: changes with which it is done once."""
