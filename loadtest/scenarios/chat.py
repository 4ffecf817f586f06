"""Chat completions, answered whole. Copy this file to write a load of your own; docs/load.md shows how.

Run it with Locust, with its web page or with `--headless`:

    locust -f loadtest/scenarios/chat.py --host http://127.0.0.1:4000 -u 100 --requests 1000 --user-mode random

or as `evenkeel load chat --host http://127.0.0.1:4000`, which adds percentiles, criteria and a verdict.
"""

from __future__ import annotations

from typing import ClassVar

from locust import task

from evenkeel_load.locust_side.load_user import LoadUser
from evenkeel_load.user_modes import CreatedUser, NoUser, RandomUser, SequentialUser


class ChatUser(LoadUser):
    """A client of the proxy. Arrivals, users and recording follow the options, such as `--arrivals` and `--rate`."""

    # The choices of --user-mode: what `self.end_user` is.
    user_modes: ClassVar = {
        "none": NoUser,  # None: the request has no field `user`
        "sequential": SequentialUser,  # "1", "2", "3": the same end users in every run
        "random": RandomUser,  # an id that the proxy has never seen
        "created": CreatedUser,  # an id that is created through the proxy before the load, and deleted after it
    }

    @task
    def chat(self) -> None:
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
