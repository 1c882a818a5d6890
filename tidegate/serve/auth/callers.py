"""From a request to a person: by a token, by a proxy's word, or because it is local."""

from __future__ import annotations

from http import HTTPStatus

from starlette.requests import Request

from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.proxies import FrontProxy, OidcProxy
from tidegate.serve.auth.reviews import AccessReviewer, User
from tidegate.serve.refusals import RefusalError

PEER = "tidegate.peer"
"""Where a connection's certificate is named in the ASGI scope: ``tidegate.serve.server``."""
LOCAL = User(name="local", local=True)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Authenticator:
    """Authenticates callers, and limits their request rate."""

    def __init__(
        self,
        reviews: AccessReviewer | None,
        proxy: FrontProxy | OidcProxy | None,
        pace: RateLimiter,
    ) -> None:
        """``reviews`` None: every caller is let in, and only this machine can reach the server."""
        self._reviews, self._proxy, self._pace = reviews, proxy, pace

    async def authenticate(self, request: Request) -> User:
        """Return the user of a request.

        Raises:
            RefusalError: an unknown user, or too many requests.
        """
        person = await self._identify(request)
        self._pace.acquire(person.name)
        return person

    async def _identify(self, request: Request) -> User:
        if self._reviews is None:
            # A page of another site may send a browser here under a name of its own.
            if _host_header(request) not in _LOOPBACK:
                message = "Without authentication only http://127.0.0.1 is answered."
                raise RefusalError(HTTPStatus.FORBIDDEN, message)
            return LOCAL
        person = self._proxied_user(request) or await self._token_user(self._reviews, request)
        if person is None:
            message = "Who asks? Send a token that this cluster knows: Authorization: Bearer TOKEN."
            raise RefusalError(HTTPStatus.UNAUTHORIZED, message)
        return person

    async def _token_user(self, reviews: AccessReviewer, request: Request) -> User | None:
        """Return the user of a request's token; unknown tokens are rate-limited by address.

        This limits the TokenReviews that guessed tokens cause, too.
        """
        token, address = _bearer_token(request), f"\0{_client_address(request)}"
        if not reviews.is_cached(token):
            self._pace.check(address)
        person = await reviews.authenticate_token(token)
        if person is None:
            self._pace.acquire(address)
        return person

    def _proxied_user(self, request: Request) -> User | None:
        if self._proxy is None:
            return None
        return self._proxy.user_of(request.scope.get(PEER), request.headers.items())


def _host_header(request: Request) -> str:
    host = request.headers.get("host", "")
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _client_address(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _bearer_token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
