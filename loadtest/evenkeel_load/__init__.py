"""Locust scenarios that tell the truth: user modes, arrival schedules, records."""
