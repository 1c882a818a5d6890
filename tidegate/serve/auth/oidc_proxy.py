"""Users of requests through an OIDC proxy: its headers, trusted by its client certificate alone.

oauth2-proxy, Envoy and nginx put the user and their groups into headers. Any client of this server
could send the same headers, so they count only on a connection with a client certificate that the
proxy's authority signed, for one of the proxy's names. Names of Kubernetes' own are refused: an
identity provider may have a group ``system:masters``, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tidegate.serve.auth.reviews import User

USER, GROUPS = "x-forwarded-user", "x-forwarded-groups"
GROUPS_MAX = 1_000
_OWN = "system:"


class OidcProxy(msgspec.Struct, frozen=True, kw_only=True):
    """By what a proxy is known when it passes a request on."""

    authority: str  # certificates in PEM
    names: tuple[str, ...]  # common names of its certificates
    user_header: str = USER  # in lower case, as all headers here
    groups_header: str = GROUPS
    prefix: str = ""  # before users and groups, as the API server's --oidc-username-prefix

    def user_of(self, peer: str | None, headers: Sequence[tuple[str, str]]) -> User | None:
        """Return the user that the proxy passes on; None: the peer is not the proxy, or no user.

        ``peer`` is the common name of the connection's certificate, which TLS has verified; None:
        it has none. ``headers`` have names in lower case.
        """
        if peer is None or peer not in self.names:
            return None
        users = [value.strip() for name, value in headers if name == self.user_header]
        if len(users) != 1 or not self._is_foreign(users[0]):
            return None
        listed = [value for name, value in headers if name == self.groups_header]
        groups = [group.strip() for value in listed for group in value.split(",")][:GROUPS_MAX]
        return User(
            name=self.prefix + users[0],
            groups=(
                *(self.prefix + group for group in groups if self._is_foreign(group)),
                _EVERYBODY,
            ),
        )

    def _is_foreign(self, name: str) -> bool:
        """Tell whether a name is none that Kubernetes gives a meaning of its own."""
        return bool(name) and not (self.prefix + name).startswith(_OWN)


_EVERYBODY = "system:authenticated"
"""The group that the API server adds to every authenticated user."""
