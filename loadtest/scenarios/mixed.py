"""Chat, streams and embeddings. Run it as `locust -f loadtest/scenarios/mixed.py --host http://127.0.0.1:4000`."""

from __future__ import annotations

from locust import task

from evenkeel_load.locust_side.load_user import LoadUser


class MixedUser(LoadUser):
    """A client with three kinds of requests. Their weights are in `@task`."""

    @task(6)
    def chat(self) -> None:
        """Send one chat completion, answered whole."""
        self.post(
            "/v1/chat/completions",
            {
                "model": self.model,
                "messages": [{"role": "user", "content": self.prompt}],
                "max_tokens": self.max_tokens,
                "user": self.end_user,
            },
        )

    @task(3)
    def stream(self) -> None:
        """Send one chat completion, answered in chunks."""
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

    @task(1)
    def embeddings(self) -> None:
        """Send one embedding."""
        self.post("/v1/embeddings", {"model": "text-embedding-3-small", "input": self.prompt, "user": self.end_user})
