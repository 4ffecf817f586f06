"""Chat completions in chunks. Run it as `locust -f loadtest/scenarios/stream.py --host http://127.0.0.1:4000`."""

from __future__ import annotations

from locust import task

from evenkeel_load.locust_side.load_user import LoadUser


class StreamUser(LoadUser):
    """A client that reads its answers as they are written."""

    @task
    def stream(self) -> None:
        """Send one chat completion. Every chunk of its answer is timed."""
        self.post(
            "/v1/chat/completions",
            {
                "model": self.model,
                "messages": [{"role": "user", "content": self.prompt}],
                "max_tokens": self.max_tokens,
                "stream": True,
                "stream_options": {"include_usage": True},
                "user": self.end_user,
            },
        )
