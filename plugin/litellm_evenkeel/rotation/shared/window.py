"""A limit that workers share: each spends what it was granted; alone, its part of the limit."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, ClassVar

from litellm_evenkeel.rotation.limits import Unit
from litellm_evenkeel.rotation.shared.asks import LATER, Debt, Return, Told, WindowAsk
from litellm_evenkeel.rotation.shared.glance import Glance
from litellm_evenkeel.rotation.shared.ground import BRIEF, IDLE
from litellm_evenkeel.rotation.windows import HAIR, PARTS, Window

if TYPE_CHECKING:
    from litellm_evenkeel.rotation.limits import Limit
    from litellm_evenkeel.rotation.need import Need
    from litellm_evenkeel.rotation.shared.asks import WindowAnswer
    from litellm_evenkeel.rotation.shared.desk import Desk
    from litellm_evenkeel.rotation.shared.ground import Ground, Times

# A grant is good for one to two parts of the window: parts of a short one are not as short as a round trip.
SHORTEST_PART, FEWEST_PARTS = 0.25, 4
# As much as is used in so many seconds is granted ahead; there is more when less than this share of it is left.
AHEAD, LOW = 1.0, 0.5
# It is not reckoned from less than so many seconds.
SHORTEST = 0.05
# What is given back is told by and by, unless it is such a share of the limit.
MUCH = 0.05
# What was refused is asked for again, ever more rarely: others may have given something back.
AGAIN, RAREST = 0.25, 1.0
# A request that takes nothing of a limit still needs it not to be used up.
LEAST = 1e-4
# What comes back as soon is a rate; what takes longer is a quota.
LONGEST_RATE = 3600.0
# Alone, each comes from what it used lately to an equal part of the limit within so many lengths of the window.
DRIFT = 4.0


class SharedWindow(Window):
    """One limit. All times are this worker's clock's, parts are the store's."""

    __slots__ = (
        "_again",
        "_alone_part",
        "_alone_since",
        "_barred",
        "_burst",
        "_demand",
        "_desk",
        "_each",
        "_ends",
        "_granted",
        "_granted_at",
        "_grants",
        "_ground",
        "_last",
        "_left_at_store",
        "_owed",
        "_owing",
        "_pause",
        "_poor_until",
        "_refused_until",
        "_returns",
        "_seen",
        "_sent",
        "_spent",
        "_standing",
        "_told",
        "_usual",
        "name",
    )

    is_lent: ClassVar[bool] = True

    def __init__(self, limit: Limit, desk: Desk, ground: Ground) -> None:
        super().__init__(limit)
        self.name = f"{limit.unit}/{limit.seconds!r}"
        self._desk, self._ground = desk, ground
        self._standing = ground.standing
        self._each = max(limit.seconds / PARTS, min(SHORTEST_PART, limit.seconds / FEWEST_PARTS))
        self._grants: deque[list[float]] = deque()
        """Part, what is left of it, and when it is good no more; the oldest first."""
        self._granted, self._ends = 0.0, math.inf
        self._returns: dict[tuple[int, int], float] = {}
        self._owed: dict[int, float] = {}
        """What was used without a grant, by parts of our own window."""
        self._sent: dict[int, float] = {}
        self._owing = 0.0
        self._told: tuple[float, float, float] | None = None
        self._demand = self._burst = self._usual = self._spent = 0.0
        self._barred = False
        self._pause = AGAIN / 2
        self._last = self._granted_at = self._seen = -math.inf
        self._refused_until = self._again = self._poor_until = -math.inf
        self._left_at_store = limit.amount
        self._alone_part, self._alone_since = limit.amount / self._standing.workers, -math.inf

    @property
    def keeps(self) -> float:
        """For how many seconds the store has to remember what was used."""
        return self.limit.seconds + (LATER + 1) * self._each

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to say."""
        return not (self._granted or self._returns or self._owed or self._demand)

    def left(self, now: float) -> float:
        """Return how much may be used here now."""
        if self._standing is not self._ground.standing:
            self.stand(now)
        if self._standing.is_local:
            return self._left_alone(now)
        if now >= self._ends:
            self._lapse(now)
        return self._granted - self._owing

    def remains(self, now: float) -> float:
        """Return how much of it is left for all, as far as is known here."""
        if self._standing is not self._ground.standing:
            self.stand(now)
        if self._standing.is_local:
            return self._left_alone(now)
        regained = (self.limit.amount - self._left_at_store) * min((now - self._seen) / self.limit.seconds, 1.0)
        return min(super().left(now), self._left_at_store + self._granted + regained)

    @property
    def is_alone(self) -> bool:
        """Whether nothing is heard of the other workers."""
        return self._standing.is_local

    def is_part(self, now: float, amount: float) -> bool:
        """Return whether only our part of a rate is used up: alone, nobody knows whether others use theirs.

        Too much of a rate is answered by a refusal that costs nothing. Quotas and money are not risked.
        """
        standing = self._standing
        is_rate = self.limit.seconds <= LONGEST_RATE and self.limit.unit is not Unit.DOLLARS
        return is_rate and standing.is_local and now < standing.ends and super().left(now) + HAIR >= amount

    def is_coming(self, now: float, amount: float) -> bool:
        """Return whether so much is left for all, as far as is known here, and was asked for."""
        is_asked = self._demand > 0 and not self._standing.is_local and now >= self._refused_until
        return is_asked and self.remains(now) + HAIR >= amount

    def has(self, need: Need, now: float) -> bool:
        """Return whether a request may be made here now."""
        return self._has(need, now)

    def pace(self, need: Need, now: float) -> float:
        """Return how far it is ahead of an even use, by what is left for all."""
        return self._even(self.remains(now), self.amount(need), now)

    def take(self, now: float, amount: float) -> None:
        """Spend of what was granted; what goes beyond is owed."""
        if self._standing is not self._ground.standing:
            self.stand(now)
        super().take(now, amount)
        self._last, self._usual = now, amount
        self._spent += amount
        if self._standing.is_local:
            self._owe(now, amount)
            return
        if now >= self._ends:
            self._lapse(now)
        wanting = amount
        while wanting > HAIR and self._grants:
            grant = self._grants[0]
            spent = min(grant[1], wanting)
            wanting -= spent
            grant[1] -= spent
            if grant[1] <= HAIR:
                self._grants.popleft()
        self._count_grants()
        if wanting > HAIR:
            self._owe(now, wanting)
        elif self._granted < LOW * max(amount, self._rate * self._ahead) and now >= self._poor_until:
            self._ground.wishes(self._desk)

    def give_back(self, at: float, now: float, amount: float) -> None:
        """Take back what was counted at a moment; the store is told."""
        part = math.floor(at / self._width)
        amount = min(amount, self._parts.get(part, 0.0))
        super().give_back(at, now, amount)
        from_owed = min(amount, self._owed.get(part, 0.0))
        if from_owed > 0:
            self._owed[part] -= from_owed
            self._owing = max(self._owing - from_owed, 0.0)
        times = self._ground.times
        if times and amount - from_owed > HAIR:
            # It was granted then or a part earlier. That it was the earlier one never lets more pass.
            first = math.floor((at + times.low) / self._each) - 1
            self._return(first, first + 1, amount - from_owed)
            self._ground.wishes(self._desk)

    def learn(self, began: float, now: float, left: float, resets_in: float, pending: float = 0.0) -> None:
        """Believe what the provider has said; the store is told."""
        super().learn(began, now, left, resets_in, pending)
        if self._told is None or began >= self._told[1]:
            self._told = left, began, now + resets_in
        while self._grants and self._granted > self._known_left + HAIR and now < self._known_until:
            part, amount, _ = self._grants.pop()
            self._return(int(part), int(part), amount)
            self._count_grants()
        if now < self._refused_until and left > 0:
            self._refused_until = self._again = -math.inf
            self._ground.wishes(self._desk)

    def fits_in(self, now: float, amount: float) -> float:
        """Return in how many seconds so much may be used here; what it lacks is asked for."""
        if amount > self.limit.amount:
            return math.inf
        left = self.left(now)
        if left > 0 and amount <= left + HAIR:
            return 0.0
        self._barred = True
        if self._standing.is_local:
            self._ground.lacks(self._desk)
            return self._fits_alone_in(now, amount)
        if now < self._refused_until:
            if amount >= self._demand:
                return self._refused_until - now
            # What is smaller may still fit.
            self._demand = 0.0
        is_burst = now < self._granted_at + AGAIN
        self._burst = 2 * max(self._burst, amount) if is_burst else 0.0
        self._demand = max(self._demand, amount, self.limit.amount * LEAST)
        self._again = self._refused_until = -math.inf
        self._pause = AGAIN / 2
        if not self._ground.lacks(self._desk):
            self._demand = 0.0
        return BRIEF

    def glance(self) -> Window:
        """Return it as it is looked at by somebody who wants nothing of it: the store is not asked for that."""
        return Glance(self)

    def comes_in(self, now: float, amount: float) -> float:
        """Return in how many seconds there may be so much for all; nothing is asked for."""
        if self._standing.is_local:
            return self._fits_alone_in(now, amount)
        return max(self._refused_until - now, BRIEF)

    @property
    def is_demanding(self) -> bool:
        """Whether somebody waits."""
        return self._demand > self._granted

    def ask(self, now: float, *, is_pulled: bool = False, confirms: bool = True) -> WindowAsk | None:
        """Return what is to be said to the store, if anything is; what is only given back waits to be confirmed.

        It is pulled where somebody waits for another window of the same side: this one will be wanted next.
        """
        if self._standing is not self._ground.standing:
            self.stand(now)
        if now >= self._ends:
            self._lapse(now)
        if now >= self._last + IDLE and now >= self._granted_at + IDLE:
            self._lapse(math.inf)
        demand, ahead = (0.0, 0.0) if self._standing.is_local else self._wanted(now, is_pulled=is_pulled)
        times = self._ground.times
        gives_back = self._returns and (confirms or sum(self._returns.values()) > MUCH * self.limit.amount)
        if times is None or not (demand or ahead or gives_back or self._owed):
            return None
        returns = tuple(Return(first, last, amount) for (first, last), amount in self._returns.items())
        self._sent, self._owed = self._owed, {}
        self._returns = {}
        told = self._told and Told(self._told[0], self._told[1] + times.low, max(self._told[2] - now, 0.0))
        self._told = None
        return WindowAsk(
            name=self.name,
            limit=self.limit.amount,
            width=self._each,
            parts=math.ceil(self.limit.seconds / self._each - HAIR),
            is_whole=self.limit.unit is Unit.REQUESTS,
            demand=demand,
            ahead=ahead,
            returns=returns,
            debts=self._debts(times),
            told=told if told and told.resets_in > 0 else None,
        )

    def answered(self, ask: WindowAsk, answer: WindowAnswer, now: float, times: Times) -> bool:
        """Know what the store says; return whether somebody who was refused may try again."""
        self._owing = max(self._owing - sum(self._sent.values()), 0.0)
        self._sent = {}
        self._left_at_store, self._seen = answer.left, now
        if answer.granted > HAIR:
            ends = (answer.part + LATER) * self._each - times.high
            self._grants.append([answer.part, answer.granted, ends])
            self._count_grants()
            self._granted_at, self._spent = now, 0.0
            self._refused_until = -math.inf
            if answer.granted + HAIR >= ask.demand:
                self._demand = 0.0
            was_barred, self._barred = self._barred, False
            return was_barred
        if ask.demand > 0:
            self._refused_until = now + max(answer.opens_in, BRIEF)
            self._pause = min(self._pause * 2, RAREST)
            self._again = now + min(max(answer.opens_in, BRIEF), self._pause)
        elif ask.ahead > 0:
            self._poor_until = now + AGAIN
        return False

    def unanswered(self) -> None:
        """Know that nobody knows what has become of it: what is owed is said again, what was given back is not."""
        for part, amount in self._sent.items():
            self._owed[part] = self._owed.get(part, 0.0) + amount
        self._sent = {}

    def leave(self) -> None:
        """Want nothing more."""
        self._demand = self._burst = 0.0
        self._poor_until = math.inf
        self._lapse(math.inf)

    def stand(self, now: float) -> None:
        """Take notice of how this worker stands to the store."""
        old, new = self._standing, self._ground.standing
        self._standing = new
        if new.is_local and not old.is_local:
            self._refused_until = self._again = self._poor_until = -math.inf
            self._demand = self._burst = 0.0
            granted = self._granted
            self._lapse(math.inf)
            super().left(now)
            self._alone_part = self._used + granted + max(self._left_at_store, 0.0) / new.workers
            self._alone_since = now
        if new.epoch != old.epoch and old.epoch:
            # It knows nothing of what was before.
            self._returns.clear()
            self._grants.clear()
            self._count_grants()
            self._owed, self._sent = dict(self._parts), {}

    def _wanted(self, now: float, *, is_pulled: bool) -> tuple[float, float]:
        if self._demand and now >= max(self._refused_until, self._again) > -math.inf:
            # Whoever still wants it says so.
            self._demand, self._refused_until = 0.0, -math.inf
        demand = 0.0
        if now >= self._again:
            demand = max(self._demand - max(self._granted - self._owing, 0.0), 0.0)
        # The rate is that of minutes; what was just granted may have gone faster.
        lately = self._spent / max(now - self._granted_at, SHORTEST)
        target = max(max(self.rate(now), lately) * self._ahead, self._usual, self._burst if demand else 0.0)
        is_low = self._granted < LOW * target and now < self._last + IDLE and now >= self._poor_until
        return demand, max(target - self._granted, 0.0) if demand or is_low or is_pulled else 0.0

    @property
    def _ahead(self) -> float:
        return min(AHEAD, self._each)

    def _left_alone(self, now: float) -> float:
        if now >= self._standing.ends:
            return 0.0
        left = super().left(now)
        if self._used <= HAIR:
            # However small a part is, one request goes.
            return left
        return min(left, self._part_alone(now) - self._used)

    def _part_alone(self, now: float) -> float:
        fair = self.limit.amount / self._standing.workers
        gone = (now - self._alone_since) / (DRIFT * self.limit.seconds)
        return fair if gone >= 1 else self._alone_part + (fair - self._alone_part) * gone

    def _fits_alone_in(self, now: float, amount: float) -> float:
        if now >= self._standing.ends:
            return BRIEF
        over = min(self._used + amount - self._part_alone(now), self._used)
        return max(self._rolls_in(now, over), super().fits_in(now, amount), BRIEF)

    def _debts(self, times: Times) -> tuple[Debt, ...]:
        """Return what is owed by parts of the store: rather too late ones, which leave later."""
        width = self._width
        return tuple(
            Debt(math.floor(((part + 1) * width + times.high) / self._each), amount)
            for part, amount in self._sent.items()
            if amount > HAIR
        )

    def _owe(self, now: float, amount: float) -> None:
        part = math.floor(now / self._width)
        self._owed[part] = self._owed.get(part, 0.0) + amount
        if self._standing.is_local:
            while next(iter(self._owed)) < part - PARTS:
                del self._owed[next(iter(self._owed))]
        else:
            self._owing += amount
        if self._ground.times:
            self._ground.wishes(self._desk)

    def _return(self, first: int, last: int, amount: float) -> None:
        self._returns[first, last] = self._returns.get((first, last), 0.0) + amount

    def _lapse(self, now: float) -> None:
        """Give back what is good no more."""
        while self._grants and self._grants[0][2] <= now:
            part, amount, _ = self._grants.popleft()
            self._return(int(part), int(part), amount)
        self._count_grants()
        if self._returns:
            self._ground.wishes(self._desk)

    def _count_grants(self) -> None:
        self._granted = sum([grant[1] for grant in self._grants])
        self._ends = self._grants[0][2] if self._grants else math.inf
