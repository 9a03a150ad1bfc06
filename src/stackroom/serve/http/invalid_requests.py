"""Requests whose body or query has not its form: audited with what was wrong, and counted against the rate limit."""

from starlette.requests import Request

from stackroom.control.accounts.limits import LoginLimiter
from stackroom.errors import ExpectedError, InputError, RateLimitedError
from stackroom.gate.gate import CallContext
from stackroom.model.principal import ANONYMOUS
from stackroom.serve.async_gate import AsyncGate
from stackroom.serve.caller import CALLER, Caller
from stackroom.serve.http.replies import UnsupportedMediaTypeError

INVALID = (ExpectedError, UnsupportedMediaTypeError)
NOT_JSON = "the body must be JSON: Content-Type: application/json"


class InvalidRequests:
    """Audits refused requests; of unauthenticated callers only so many a minute as may try to log in."""

    def __init__(self, gate: AsyncGate) -> None:
        self._gate = gate
        self._unauthenticated = LoginLimiter()

    async def refused(self, request: Request, operation: str, error: Exception, *, target: str = "") -> Exception:
        """Audit a request that is refused by an error, and return the error that it is answered with."""
        caller = request.scope.get(CALLER)
        if caller is None and not self._is_within_limit(request):
            return error
        noted = error if isinstance(error, ExpectedError) else InputError(NOT_JSON)
        answered = await self._gate.refuse_invalid(_context(caller, operation, target, noted), noted)
        return answered if isinstance(answered, RateLimitedError) else error

    def _is_within_limit(self, request: Request) -> bool:
        try:
            self._unauthenticated.require("", request.client.host if request.client else "")
        except RateLimitedError:
            return False
        return True


def _context(caller: Caller | None, operation: str, target: str, error: ExpectedError) -> CallContext:
    return CallContext(
        principal=caller.principal if caller else ANONYMOUS,
        via=caller.via if caller else "rest",
        operation=operation,
        target=target,
        parameters={"problem": error.message},  # no value of a body is in it
    )
