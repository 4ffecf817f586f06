"""One worker of the mock: parses, checks and admits requests."""

from __future__ import annotations

import itertools
import time
from hashlib import blake2b
from typing import TYPE_CHECKING

from evenkeel_mock import faults
from evenkeel_mock.config import StoredSettings
from evenkeel_mock.errors import BadRequest, MockConfigError
from evenkeel_mock.faults import Fault, Kind
from evenkeel_mock.parsing.durations import NS
from evenkeel_mock.quotas.headers import Dialect
from evenkeel_mock.quotas.limits import UNLIMITED
from evenkeel_mock.quotas.prefix_cache import BLOCK_BYTES, PrefixCache
from evenkeel_mock.quotas.reasons import Reason, Rejection
from evenkeel_mock.quotas.rejections import response, status_rejection
from evenkeel_mock.quotas.windows import UNUSED
from evenkeel_mock.server.admin import PREFIX, Admin
from evenkeel_mock.server.chunk_timer import Pacer
from evenkeel_mock.server.connection import JSON, lines
from evenkeel_mock.server.delivery import OK, Delivery, times
from evenkeel_mock.server.endpoints import FAMILIES, Family, answer_auxiliary
from evenkeel_mock.server.hostile import hostile
from evenkeel_mock.server.job import Caller, Job
from evenkeel_mock.shared.ledger import Ledger
from evenkeel_mock.shared.quota import Quota
from evenkeel_mock.shared.shared_file import NO_SLOT
from evenkeel_mock.timing.empirical_files import EmpiricalFiles
from evenkeel_mock.timing.latency import Queue
from evenkeel_mock.tokens import BYTES_PER_TOKEN
from evenkeel_mock.wire import errors
from evenkeel_mock.wire.answer import compose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel_mock.server.connection import Exchange
    from evenkeel_mock.shared.shared_file import Board
    from evenkeel_mock.wire.answer import Answer

POST = b"POST"
KEY, FAULT = b"x-mock-key", b"x-mock-fault"
AUTHORIZATION, API_KEY, VERSION = b"authorization", b"x-api-key", b"anthropic-version"
BEARER = "bearer "
KEY_DIGEST_BYTES = 16
MOST_CALLERS = 100_000
SERVER_ERROR, OVERLOADED = 500, 529


class App:
    """One worker process of the mock."""

    def __init__(self, board: Board) -> None:
        worker = board.join()
        self._board = board
        self._quota = Quota(board, worker)
        self._ledger = Ledger(board, worker)
        self._prefixes = PrefixCache(board.prefixes())
        self._pacer = Pacer()
        self._files = EmpiricalFiles(board.folder)
        self._admin = Admin(board, self._files)
        self._numbers = itertools.count(1)
        self._prefix = b"%x%x" % (worker, time.time_ns() // NS)
        self._callers: dict[bytes, Caller | None] = {}
        self._reload()

    def _reload(self) -> None:
        """Reload the configuration, which any worker may have changed."""
        self._version = self._board.config_version
        self._config = StoredSettings.load(self._board.read_config()).config(self._files.read)
        self._queue = Queue(self._config.latency.servers) if self._config.latency.servers else None
        self._callers.clear()

    def serve(self, exchange: Exchange) -> None:
        """Serve one request."""
        family = FAMILIES.get(exchange.path)
        if family is None or exchange.method != POST:
            self._serve_auxiliary(exchange)
            return
        if self._board.config_version != self._version:
            self._reload()
        headers = exchange.headers
        credential = credential_of(headers, family.dialect)
        try:
            caller = self._callers[credential]
        except KeyError:
            caller = self._caller(credential)
        if caller is None:
            self._respond_with(exchange, family, Rejection(Reason.INVALID_KEY))
            return
        try:
            request = family.parse(exchange.body)
            chosen = faults.parse_header(headers[FAULT].decode("latin-1")) if FAULT in headers else None
        except (BadRequest, MockConfigError) as error:
            self._reject(exchange, family, error, caller)
            return
        key = headers.get(KEY) or blake2b(exchange.body, digest_size=KEY_DIGEST_BYTES).hexdigest().encode()
        job = Job(exchange, family, request, caller, key)
        rejection = self._select_fault(job, chosen)
        if rejection is not None:
            self._respond_with(exchange, family, rejection, job)
            return
        try:
            answer = self._compose(job)
        except BadRequest as error:
            self._reject(exchange, family, error, caller)
            return
        rejection = self._admit(job, answer)
        if rejection is not None:
            self._respond_with(exchange, family, rejection, job)
            return
        # From here on, `Delivery` always releases the reservation.
        delivery = Delivery(job, answer, self._pacer, self._end)
        self._look_up(job, answer)
        queued = 0.0
        if self._queue is not None:
            queued = self._queue.enter(time.monotonic(), job.plan.duration(len(answer.pieces)))
        delivery.begin(queued)

    def _select_fault(self, job: Job, chosen: Fault | None) -> Rejection | None:
        """Choose the fault of a request. Return a rejection if the fault or the account requires one."""
        config, request, caller = self._config, job.request, job.caller
        received_ns = job.exchange.received_ns
        if chosen is not None and not faults.strikes(chosen, config.seed, job.key):
            chosen = None
        if chosen is None and config.faults:
            second = (received_ns - config.timeline_ns) / NS
            chosen = faults.active(config.faults, second, caller.name, request.model, seed=config.seed, key=job.key)
        job.fault = chosen
        rejection = caller.limits.access_rejection(request.model, received_ns)
        if rejection is None and chosen is not None:
            rejection = fault_rejection(chosen, job)
        return rejection

    def _compose(self, job: Job) -> Answer:
        """Compose the answer and its timing."""
        config = self._config
        job.plan = plan = config.latency.plan(config.seed, job.key, job.request.max_tokens)
        return compose(
            job.request,
            self._prefix + b"%x" % next(self._numbers),
            job.exchange.received_ns // NS,
            plan.tokens,
            cut=plan.cut,
            echo=config.echo,
            eager=config.call_tools,
        )

    def _admit(self, job: Job, answer: Answer) -> Rejection | None:
        """Reserve the maximum cost of the answer, or return a rejection."""
        request, caller = job.request, job.caller
        most = (request.max_tokens or 0) * request.choices
        estimate = request.prompt_tokens + max(most, answer.completion_tokens)
        rejection, job.ticket = self._quota.admit(caller.slot, caller.limits, estimate)
        return rejection

    def _look_up(self, job: Job, answer: Answer) -> None:
        """Apply the prompt cache: shorten the wait for prefixes that the account has sent before."""
        config, request = self._config, job.request
        if not config.prompt_cache or request.prompt_tokens * BYTES_PER_TOKEN < BLOCK_BYTES:
            return
        answer.cached_tokens = job.cached = self._prefixes.use(
            job.caller.encoded,
            request.model.encode(),
            request.prompt,
            request.prompt_tokens,
            job.exchange.received_ns,
        )
        if job.cached:
            share = job.cached / request.prompt_tokens
            job.plan = config.latency.plan(config.seed, job.key, request.max_tokens, share)

    def _end(self, job: Job, status: int, completion_tokens: int) -> None:
        """Settle and record an admitted request."""
        prompt_tokens = job.request.prompt_tokens
        assert job.ticket is not None
        self._quota.end(job.ticket, prompt_tokens + completion_tokens if status == OK else 0)
        self._record(job, status, (prompt_tokens, job.cached, completion_tokens))

    def _record(self, job: Job, status: int, tokens: tuple[int, int, int]) -> None:
        self._ledger.record(
            job.exchange.received_ns,
            job.sent_ns,
            job.family.number,
            status,
            job.caller.slot,
            job.request,
            tokens,
            job.fault.kind.encode() if job.fault is not None else b"",
            job.key,
        )

    def _respond_with(self, exchange: Exchange, family: Family, rejection: Rejection, job: Job | None = None) -> None:
        ticket = job.ticket if job else None
        # The time of the rejection, so that the resets in headers are exact.
        now = (ticket.admitted_ns if ticket else 0) or time.time_ns()
        state = ticket.state if ticket else self._quota.look(job.caller.slot, job.caller.limits) if job else UNUSED
        refused = response(
            rejection,
            family.dialect,
            now,
            limits=job.caller.limits if job else UNLIMITED,
            state=state or UNUSED,
            model=job.request.model if job else "",
            key=key_in(credential_of(exchange.headers, family.dialect)),
        )
        if job is not None and job.fault is not None:
            secrets = credential_of(exchange.headers, family.dialect) + b" " + job.request.prompt
            refused = hostile(refused, job.fault, secrets.decode(errors="replace"))
        exchange.respond(refused.status, lines(refused.headers) + times(exchange.received_ns, now), refused.body)
        if job is not None:
            job.sent_ns = now
            self._record(job, refused.status, (0, 0, 0))
        else:
            self._ledger.note(exchange.received_ns, now, family.number, refused.status, NO_SLOT)

    def _reject(self, exchange: Exchange, family: Family, error: BadRequest | MockConfigError, caller: Caller) -> None:
        if isinstance(error, MockConfigError):
            error = BadRequest(400, str(error))
        body = errors.bad_request(error, of_anthropic=family.dialect is Dialect.ANTHROPIC)
        self._respond(exchange, family.number, error.status, body, caller.slot)

    def _serve_auxiliary(self, exchange: Exchange) -> None:
        """Serve the auxiliary endpoints: model lists, token counts and the admin API."""
        path = exchange.path
        if path.startswith(PREFIX):
            self._admin.serve(exchange)
            return
        if self._board.config_version != self._version:
            self._reload()
        number, status, body = answer_auxiliary(
            exchange.method.decode(),
            path,
            exchange.body,
            self._config.models,
            of_anthropic=VERSION in exchange.headers,
        )
        self._respond(exchange, number, status, body, NO_SLOT)

    def _respond(self, exchange: Exchange, number: int, status: int, body: bytes, slot: int) -> None:
        now = time.time_ns()
        exchange.respond(status, JSON + times(exchange.received_ns, now), body)
        self._ledger.note(exchange.received_ns, now, number, status, slot)

    def _caller(self, credential: bytes) -> Caller | None:
        """Return whose key it is, and remember it."""
        key = key_in(credential)
        account = self._config.accounts.of(key) if key else None
        caller = None
        if account is not None:
            # A listed account stays the same when it gets another key.
            identity = f"name {account.name}" if key in self._config.accounts.listed else f"key {key}"
            slot = self._board.slot(identity, account.name)
            caller = Caller(account.name, account.name.encode(), account.limits, slot)
        if len(self._callers) >= MOST_CALLERS:
            self._callers.clear()
        self._callers[credential] = caller
        return caller


def fault_rejection(fault: Fault, job: Job) -> Rejection | None:
    """Return the rejection that a fault requests, if any."""
    if fault.kind is Kind.STATUS:
        return status_rejection(fault.status, fault.retry_after_ns)
    if fault.kind is Kind.ERROR_EVENT and not (job.request.stream and job.family.events):
        return status_rejection(OVERLOADED if job.family.dialect is Dialect.ANTHROPIC else SERVER_ERROR)
    return None


def credential_of(headers: Mapping[bytes, bytes], dialect: Dialect) -> bytes:
    """Return the client's credential as it was sent."""
    credential = headers.get(AUTHORIZATION, b"")
    return headers.get(API_KEY, credential) if dialect is Dialect.ANTHROPIC else credential


def key_in(credential: bytes) -> str:
    """Return the API key in a credential."""
    text = credential.decode("latin-1").strip()
    return text[len(BEARER) :].strip() if text.lower().startswith(BEARER) else text
