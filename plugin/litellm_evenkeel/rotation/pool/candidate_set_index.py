"""Index of the candidate sets that each deployment belongs to, and of deployments that no longer belong to any."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from litellm_evenkeel.rotation.selection.candidate_set import CandidateSet
    from litellm_evenkeel.rotation.state.deployment_state import DeploymentState


class CandidateSetIndex:
    """Live candidate sets by deployment."""

    def __init__(self) -> None:
        self.by_deployment: dict[DeploymentState, list[tuple[CandidateSet, int]]] = {}
        """The candidate sets that a deployment belongs to, and its position in each. The pool reads it directly."""
        self._possibly_unused: dict[DeploymentState, None] = {}
        """Deployments of retired sets. Those with requests in flight stay here until these end."""

    def add(self, candidates: CandidateSet) -> None:
        """Add a candidate set."""
        for position, deployment in enumerate(candidates.deployments):
            self.by_deployment.setdefault(deployment, []).append((candidates, position))

    def sets_of(self, deployment: DeploymentState) -> list[CandidateSet]:
        """Return the candidate sets that a deployment belongs to."""
        return [candidates for candidates, _ in self.by_deployment.get(deployment, ())]

    def retire_sets_of(self, deployment: DeploymentState) -> None:
        """Retire the sets of a deployment that was replaced or removed. Requests look their candidates up again."""
        for candidates in dict.fromkeys(self.sets_of(deployment)):
            self._remove(candidates)

    def replace(self, candidates: CandidateSet) -> None:
        """Retire a candidate set whose deployments the next request looks up again."""
        self._remove(candidates)

    def retire(self, candidates: CandidateSet) -> None:
        """Retire a candidate set that is no longer requested. Its deployments may be unused from now on."""
        self._remove(candidates)
        self._possibly_unused.update(dict.fromkeys(candidates.deployments))

    def pop_unused(self, current: Mapping[tuple[str, str], DeploymentState]) -> list[DeploymentState]:
        """Return the deployments of retired sets that belong to no other set and have no requests in flight.

        `current` has the deployments of the pool by id and model. Those that were replaced are not returned.
        """
        unused = []
        for deployment in list(self._possibly_unused):
            is_replaced = current.get((deployment.spec.id, deployment.spec.model)) is not deployment
            is_used = deployment in self.by_deployment
            if deployment.reservations and not is_used and not is_replaced:
                continue
            del self._possibly_unused[deployment]
            if not is_used and not is_replaced:
                unused.append(deployment)
        return unused

    def _remove(self, candidates: CandidateSet) -> None:
        candidates.is_retired = True
        for deployment in candidates.deployments:
            remaining = [entry for entry in self.by_deployment.get(deployment, ()) if entry[0] is not candidates]
            if remaining:
                self.by_deployment[deployment] = remaining
            else:
                self.by_deployment.pop(deployment, None)
