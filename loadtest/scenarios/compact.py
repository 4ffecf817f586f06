"""Small chat completions. Run it as `locust -f loadtest/scenarios/compact.py --host http://127.0.0.1:4000`."""

from __future__ import annotations

from locust import task

from evenkeel_load.locust_side.load_user import LoadUser


class CompactUser(LoadUser):
    """A client that sends small bodies: the defaults of `--payload-bytes` and `--max-tokens` are 16 and 8."""

    @task
    def compact(self) -> None:
        """Send one chat completion."""
        self.post(
            "/v1/chat/completions",
            {
                "model": self.model,
                "messages": [{"role": "user", "content": self.prompt}],
                "max_tokens": self.max_tokens,
                "user": self.end_user,
            },
        )
