"""When a response is sent: distributions, draws and pacing."""
