"""The mock's HTTP surface, on Granian's RSGI: what happens to one request, from its receipt to its record."""

from __future__ import annotations

import asyncio
import itertools
import time
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from evenkeel_mock import config as settings, faults, tally
from evenkeel_mock.admin import Admin
from evenkeel_mock.board import NO_SLOT
from evenkeel_mock.errors import BadRequest, MockConfigError
from evenkeel_mock.families import FAMILIES, Family, seldom
from evenkeel_mock.faults import Fault, Kind
from evenkeel_mock.headers import Dialect, of_limits
from evenkeel_mock.journal import Journal
from evenkeel_mock.latency import Queue
from evenkeel_mock.limits import UNLIMITED
from evenkeel_mock.pace import Pacer, Stream
from evenkeel_mock.prefix_cache import BLOCK_BYTES, PrefixCache
from evenkeel_mock.quota import Quota
from evenkeel_mock.reasons import Reason, Refusal
from evenkeel_mock.refusals import of_status, response
from evenkeel_mock.windows import UNUSED
from evenkeel_mock.wire import errors
from evenkeel_mock.wire.answer import compose

if TYPE_CHECKING:
    from granian.rsgi import HTTPProtocol, Scope  # type: ignore[attr-defined]  # its stub forgets to export it

    from evenkeel_mock.board import Board
    from evenkeel_mock.latency import Plan
    from evenkeel_mock.limits import AccountLimits
    from evenkeel_mock.quota import Ticket
    from evenkeel_mock.wire.answer import Answer, Request

JSON = ("content-type", "application/json")
SSE = ("content-type", "text/event-stream; charset=utf-8")
RECEIVED, SENT = "x-mock-received-ns", "x-mock-sent-ns"
KEY, FAULT = "x-mock-key", "x-mock-fault"
BEARER = "Bearer "
KEY_DIGEST_BYTES = 16
NS = 1_000_000_000
OK, CLIENT_LEFT = 200, 499
# More than any answer: a connection that closes before so much has come was cut.
NEVER_REACHED = ("content-length", "1000000000")


class Caller(NamedTuple):
    """Whose key a request came with, and where its numbers are."""

    name: str
    encoded: bytes
    limits: AccountLimits
    slot: int


class Job:
    """One request on its way."""

    __slots__ = ("cached", "caller", "ended", "family", "fault", "key", "plan", "received", "request", "sent", "ticket")

    def __init__(self, received: int, family: Family, request: Request, caller: Caller, key: bytes) -> None:
        self.received = received
        self.family = family
        self.request = request
        self.caller = caller
        self.key = key
        self.cached = 0
        self.sent = 0
        self.fault: Fault | None = None
        self.plan: Plan
        self.ticket: Ticket | None = None


class App:
    """One worker process of the mock."""

    def __init__(self, board: Board) -> None:
        worker = board.join()
        self._board = board
        self._worker = worker
        self._quota = Quota(board, worker)
        self._journal = Journal(board, worker)
        self._tally = tally.Tally(board, worker)
        self._prefixes = PrefixCache(board.prefixes())
        self._pacer = Pacer()
        self._admin = Admin(board)
        self._numbers = itertools.count(1)
        self._prefix = b"%x%x" % (worker, time.time_ns() // NS)
        self._version = -1
        self._callers: dict[str, Caller | None] = {}
        self._reload()

    def _reload(self) -> None:
        """Read the configuration anew: somebody has changed it, perhaps through another worker."""
        self._version = self._board.config_version
        self._config = settings.parse(*settings.load(self._board.read_config()))
        self._queue = Queue(self._config.latency.servers) if self._config.latency.servers else None
        self._callers.clear()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Serve one request."""
        received = time.time_ns()
        family = FAMILIES.get(scope.path)
        if family is None or scope.method != "POST":
            await self._elsewhere(scope, protocol, received)
            return
        body = await protocol()
        if self._board.config_version != self._version:
            self._reload()
        headers = scope.headers
        token = self._token(headers, family.dialect)
        try:
            caller = self._callers[token]
        except KeyError:
            caller = self._caller(token)
        if caller is None:
            self._refuse(protocol, received, family, Refusal(Reason.INVALID_KEY), token=token)
            return
        try:
            request = family.parse(body)
            named = headers.get(FAULT)
            chosen = faults.parse_header(named) if named else None
        except (BadRequest, MockConfigError) as error:
            self._reject(protocol, received, family, error, caller)
            return
        key = headers.get(KEY)
        job = Job(
            received,
            family,
            request,
            caller,
            key.encode() if key else blake2b(body, digest_size=KEY_DIGEST_BYTES).hexdigest().encode(),
        )
        if not self._prepare(job, chosen, protocol, token):
            return
        try:
            await self._answer(job, protocol)
        finally:
            if not job.sent:
                self._close(job, CLIENT_LEFT, 0)

    def _prepare(self, job: Job, chosen: Fault | None, protocol: HTTPProtocol, token: str) -> bool:
        """Let the request in, and settle what will become of it; or refuse it."""
        config, request, caller = self._config, job.request, job.caller
        refusal = caller.limits.barred(request.model, job.received)
        if chosen is not None and not faults.strikes(chosen, config.seed, job.key):
            chosen = None
        if chosen is None and config.faults:
            second = (job.received - config.started_ns) / NS
            chosen = faults.active(config.faults, second, caller.name, request.model, seed=config.seed, key=job.key)
        job.fault = chosen
        if refusal is None and chosen is not None and chosen.kind is Kind.STATUS:
            refusal = of_status(chosen.status, chosen.retry_after_ns)
        if refusal is not None:
            self._refuse(protocol, job.received, job.family, refusal, job=job, token=token)
            return False
        job.plan = config.latency.plan(config.seed, job.key, request.max_tokens)
        estimate = request.prompt_tokens + (request.max_tokens or job.plan.tokens) * request.choices
        refusal, job.ticket = self._quota.admit(caller.slot, caller.limits, estimate)
        if refusal is not None:
            self._refuse(protocol, job.received, job.family, refusal, job=job, token=token)
            return False
        if config.prompt_cache and len(request.prompt) >= BLOCK_BYTES:
            job.cached = self._prefixes.use(
                caller.encoded, request.model.encode(), request.prompt, request.prompt_tokens, job.received
            )
            if job.cached:
                share = job.cached / request.prompt_tokens
                job.plan = config.latency.plan(config.seed, job.key, request.max_tokens, share)
        return True

    async def _answer(self, job: Job, protocol: HTTPProtocol) -> None:
        config, plan = self._config, job.plan
        identity = self._prefix + b"%x" % next(self._numbers)
        answer = compose(
            job.request,
            identity,
            job.received // NS,
            plan.tokens,
            cut=plan.cut,
            cached_tokens=job.cached,
            echo=config.echo,
            eager=config.call_tools,
        )
        fault, wait, factor = job.fault, plan.ttft, 1.0
        if fault is not None:
            factor = fault.factor
            wait = wait * factor + fault.seconds
        if self._queue is not None:
            wait += self._queue.enter(time.monotonic(), plan.duration)
        if job.request.stream and job.family.events is not None:
            await self._stream(job, answer, protocol, wait, factor)
            return
        wait += (plan.duration - plan.ttft) * factor
        if wait and await left(protocol, wait):
            return
        body = job.family.whole(job.request, answer)
        if fault is not None:
            body = spoiled(body, fault)
        job.sent = time.time_ns()
        headers = self._headers(job, JSON)
        if fault is not None and fault.kind is Kind.RESET:
            transport = protocol.response_stream(200, [*headers, NEVER_REACHED])
            await transport.send_bytes(body[: len(body) // 2])
        else:
            protocol.response_bytes(200, headers, body)
        self._close(job, 200, answer.completion_tokens)

    async def _stream(self, job: Job, answer: Answer, protocol: HTTPProtocol, wait: float, factor: float) -> None:
        assert job.family.events is not None
        head, chunks, tail = job.family.events(job.request, answer)
        gaps, fault = job.plan.gaps, job.fault
        if not isinstance(gaps, float) and len(gaps) < len(chunks):
            # The answer is longer than was drawn, because it says what it has to: the gaps come round again.
            gaps = (0.0, *itertools.islice(itertools.cycle(gaps[1:] or (0.0,)), len(chunks) - 1))
        if factor != 1.0:
            gaps = gaps * factor if isinstance(gaps, float) else tuple(gap * factor for gap in gaps)
        pieces = [*chunks]
        if pieces:
            pieces[0] = head + pieces[0]
            pieces[-1] += tail
        else:
            pieces = [head + tail]
        cut = False
        if fault is not None:
            pieces, cut = broken(pieces, fault)
        loop = asyncio.get_running_loop()
        if wait and await left(protocol, wait):
            return
        started = loop.time()
        job.sent = time.time_ns()
        headers = self._headers(job, SSE)
        if gaps == 0.0 or not pieces[1:]:
            transport = protocol.response_stream(200, [*headers, NEVER_REACHED] if cut else headers)
            await transport.send_bytes(b"".join(pieces))
        else:
            transport = protocol.response_stream(200, [*headers, NEVER_REACHED] if cut else headers)
            stream = Stream(transport.send_bytes, pieces, gaps)
            done = stream.until_sent(loop)
            self._pacer.add(stream, started, loop)
            gone = asyncio.ensure_future(protocol.client_disconnect())
            await asyncio.wait((done, gone), return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if not done.done():
                stream.stop()
        self._close(job, 200, answer.completion_tokens)

    def _headers(self, job: Job, kind: tuple[str, str]) -> list[tuple[str, str]]:
        headers = [kind, (RECEIVED, str(job.received)), (SENT, str(job.sent))]
        limits = job.caller.limits
        if limits.windows and job.ticket is not None:
            headers += of_limits(job.ticket.state, limits, job.sent, job.family.dialect)
        return headers

    def _close(self, job: Job, status: int, completion_tokens: int) -> None:
        """Settle and remember a request that was let in."""
        request = job.request
        actual = request.prompt_tokens + completion_tokens if status == OK else 0
        assert job.ticket is not None
        self._quota.end(job.ticket, actual)
        self._record(job, status, request.prompt_tokens, completion_tokens)

    def _record(self, job: Job, status: int, prompt_tokens: int, completion_tokens: int) -> None:
        request, number = job.request, job.family.number
        self._tally.count(number, status, prompt_tokens, job.cached, completion_tokens)
        self._journal.write(
            job.received,
            job.sent,
            time.time_ns(),
            status,
            number,
            request.stream,
            job.caller.slot + 1,
            prompt_tokens,
            job.cached,
            completion_tokens,
            job.fault.kind.encode() if job.fault is not None else b"",
            job.key,
            request.model.encode(),
        )

    def _refuse(
        self,
        protocol: HTTPProtocol,
        received: int,
        family: Family,
        refusal: Refusal,
        *,
        job: Job | None = None,
        token: str = "",
    ) -> None:
        ticket = job.ticket if job else None
        # The time at which it was refused, so that what is told about resets is exact.
        now = (ticket.admitted_ns if ticket else 0) or time.time_ns()
        state = (ticket.state if ticket else ()) or UNUSED
        limits = job.caller.limits if job else UNLIMITED
        model = job.request.model if job else ""
        said = response(refusal, family.dialect, now, limits=limits, state=state, model=model, key=token)
        times = [(RECEIVED, str(received)), (SENT, str(now))]
        protocol.response_bytes(said.status, [*said.headers, *times], said.body)
        if job is not None:
            job.sent = now
            self._record(job, said.status, 0, 0)
        else:
            self._note(received, now, family.number, said.status, NO_SLOT)

    def _reject(
        self,
        protocol: HTTPProtocol,
        received: int,
        family: Family,
        error: BadRequest | MockConfigError,
        caller: Caller,
    ) -> None:
        if isinstance(error, MockConfigError):
            error = BadRequest(400, str(error))
        body = errors.bad_request(error, of_anthropic=family.dialect is Dialect.ANTHROPIC)
        now = time.time_ns()
        protocol.response_bytes(error.status, [JSON, (RECEIVED, str(received)), (SENT, str(now))], body)
        self._note(received, now, family.number, error.status, caller.slot)

    def _note(self, received: int, sent: int, number: int, status: int, slot: int) -> None:
        """Remember a request of which nothing more is known."""
        self._tally.count(number, status, 0, 0, 0)
        self._journal.write(received, sent, sent, status, number, 0, slot + 1, 0, 0, 0, b"", b"", b"")

    async def _elsewhere(self, scope: Scope, protocol: HTTPProtocol, received: int) -> None:
        """Serve what is asked for seldom: the lists of models, token counts, the admin API; or nothing."""
        path = scope.path
        if path.startswith("/_mock/"):
            await self._admin.serve(scope, protocol)
            return
        if self._board.config_version != self._version:
            self._reload()
        body = await protocol()
        of_anthropic = "anthropic-version" in scope.headers
        number, status, said = seldom(scope.method, path, body, self._config.models, of_anthropic=of_anthropic)
        now = time.time_ns()
        protocol.response_bytes(status, [JSON, (RECEIVED, str(received)), (SENT, str(now))], said)
        self._note(received, now, number, status, NO_SLOT)

    def _token(self, headers: object, dialect: Dialect) -> str:
        found = headers.get("x-api-key") if dialect is Dialect.ANTHROPIC else None  # type: ignore[attr-defined]
        token: str = found or headers.get("authorization", "")  # type: ignore[attr-defined]
        return token.removeprefix(BEARER)

    def _caller(self, token: str) -> Caller | None:
        account = self._config.accounts.of(token) if token else None
        caller = None
        if account is not None:
            caller = Caller(account.name, account.name.encode(), account.limits, self._board.slot(token, account.name))
        self._callers[token] = caller
        return caller


async def left(protocol: HTTPProtocol, seconds: float) -> bool:
    """Wait; return at once, and True, if the client leaves meanwhile."""
    gone = asyncio.ensure_future(protocol.client_disconnect())
    try:
        done, _ = await asyncio.wait((gone,), timeout=None if seconds == float("inf") else seconds)
        return bool(done)
    finally:
        gone.cancel()


def spoiled(body: bytes, fault: Fault) -> bytes:
    """Return what a fault makes of a whole answer."""
    if fault.kind is Kind.MALFORMED:
        return body[:-1] + b",,"
    return body[: len(body) // 2] if fault.kind is Kind.HALF_EVENT else body


def broken(pieces: list[bytes], fault: Fault) -> tuple[list[bytes], bool]:
    """Return what a fault makes of a stream, and whether the connection is cut after it."""
    at = fault.chunks
    if fault.kind is Kind.RESET:
        return pieces[:at], True
    if fault.kind is Kind.HALF_EVENT:
        following = pieces[at] if at < len(pieces) else pieces[-1]
        return [*pieces[:at], following[: len(following) // 2]], False
    if fault.kind is Kind.MALFORMED:
        return [*pieces[:at], b'data: {"broken":,,\n\n', *pieces[at:]], False
    return pieces, False
