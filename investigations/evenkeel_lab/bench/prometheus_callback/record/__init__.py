"""Events as the real proxy tells them to callbacks, recorded once and committed: `python -m ...callback.record`."""
