"""What budgets are left: of keys, teams, users, organisations, customers and providers, known without waiting."""

from __future__ import annotations

from litellm_evenkeel.budgets.breaker import Standing
from litellm_evenkeel.budgets.budget import Budget, Entity, Kind, Source
from litellm_evenkeel.budgets.cache import Budgets, Listener, Peek
from litellm_evenkeel.budgets.counts import BudgetCounts, KindCounts, health
from litellm_evenkeel.budgets.opening import load_drivers, opened
from litellm_evenkeel.budgets.process import budget_of, counter_name, row_name
from litellm_evenkeel.budgets.reasons import Reason
from litellm_evenkeel.budgets.snapshot import Hint, Ids, hints
from litellm_evenkeel.budgets.terms import BudgetTerms

__all__ = [
    "Budget",
    "BudgetCounts",
    "BudgetTerms",
    "Budgets",
    "Entity",
    "Hint",
    "Ids",
    "Kind",
    "KindCounts",
    "Listener",
    "Peek",
    "Reason",
    "Source",
    "Standing",
    "budget_of",
    "counter_name",
    "health",
    "hints",
    "load_drivers",
    "opened",
    "row_name",
]
