"""Budgets of keys, teams, users, organisations, customers and providers, read from a cache without waiting."""

from __future__ import annotations

from litellm_evenkeel.budgets.budget import Budget, BudgetEntity, Entity, Source
from litellm_evenkeel.budgets.cache import BudgetCache, Listener, Peek
from litellm_evenkeel.budgets.factory import load_drivers, open_budgets
from litellm_evenkeel.budgets.proxy_memory import budget_of, counter_name, row_name
from litellm_evenkeel.budgets.request_metadata import BudgetObservation, RequestOwners, observations
from litellm_evenkeel.budgets.settings import BudgetSettings
from litellm_evenkeel.budgets.stats import BudgetCounts, health

__all__ = [
    "Budget",
    "BudgetCache",
    "BudgetCounts",
    "BudgetEntity",
    "BudgetObservation",
    "BudgetSettings",
    "Entity",
    "Listener",
    "Peek",
    "RequestOwners",
    "Source",
    "budget_of",
    "counter_name",
    "health",
    "load_drivers",
    "observations",
    "open_budgets",
    "row_name",
]
