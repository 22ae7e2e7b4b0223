"""Who may see the page: each request is checked before anything of it is believed (docs/ui.md).

    Host            names loopback, so that no name of a stranger's leads here (DNS rebinding)
    Sec-Fetch-Site  is not another site's, unless somebody followed a link
    token, cookie   this server's, unless it was started without
    Origin          of what changes something: this page itself; and the form has the form's token

Every answer carries a policy by which the browser loads and runs nothing but the page's own.
"""

from __future__ import annotations

import secrets
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Event
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
METHODS = frozenset({"GET", "HEAD", "POST"})
FOREIGN = frozenset({"cross-site", "same-site"})
"""Of Sec-Fetch-Site; another port of this machine is the same site, and not the same origin."""

CHART_STYLE = """:where(.plot-d6a7b5) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.plot-d6a7b5 text),
:where(.plot-d6a7b5 tspan) {
  white-space: pre;
}"""
"""The style that the chart library puts into every picture: the only one in the page itself."""
_CHARTS = b64encode(sha256(CHART_STYLE.encode()).digest()).decode()

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self'; "
    f"style-src 'self' 'sha256-{_CHARTS}'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FRAMED = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""Of a report: what runs in it is of no origin, so it reaches no page, no cookie and no form."""

HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Access:
    """What opens the page. `token`: what a link must have once, empty where none is asked for;
    `name` of the cookie that is given for it. Secrets are drawn anew for each server."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    name: str = "assay-ui"
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    form: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def is_form(self, given: str) -> bool:
        """Whether a form is one that this server made."""
        return _same(given, self.form)


class Guard:
    """The page behind its checks. `ending` is set where no more is answered: live views end."""

    def __init__(self, app: ASGIApp, access: Access, ending: Event) -> None:
        self.app, self.access, self.ending = app, access, ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        refused = self._refused(scope)
        await (refused or self.app)(scope, receive, _with_headers(send))

    def _refused(self, scope: Scope) -> Response | None:
        """Why a request is not answered; None where it is."""
        headers, method = Headers(scope=scope), scope["method"]
        host = headers.get("host", "")
        if not _is_loopback(host):
            return _no("this page answers to 127.0.0.1 and localhost only", host)
        if method not in METHODS:
            return PlainTextResponse("GET and POST only\n", 405)
        is_page = headers.get("sec-fetch-dest", "document") == "document"
        followed = is_page and headers.get("sec-fetch-mode") == "navigate" and method != "POST"
        if headers.get("sec-fetch-site") in FOREIGN and not followed:
            return _no("another site asked")
        if method == "POST" and headers.get("origin") != f"http://{host}":
            return _no("this form is not of this page", headers.get("origin", ""))
        return self._unknown(scope, headers) if self.access.token else None

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to whoever has no cookie yet; None for those who have."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["method"] == "GET" and "token" in query:
            if not _same(query["token"][0], self.access.token):
                return _no("this token is not the one of this server")
            return self._let_in(scope["path"])
        cookies = cookie_parser(headers.get("cookie", ""))
        if _same(cookies.get(self.access.name, ""), self.access.cookie):
            return None
        return _no("open the link that `assay ui` printed: it has a token")

    def _let_in(self, path: str) -> Response:
        """To the same page without the token in its address; never to another machine."""
        place = "/" + quote(path.lstrip("/\\"))
        answer = Response(status_code=303, headers={"Location": place})
        answer.set_cookie(
            self.access.name, self.access.cookie, path="/", httponly=True, samesite="strict"
        )
        return answer


def _no(why: str, what: str = "") -> Response:
    said = f" ({what[:100]!r})" if what else ""
    return PlainTextResponse(f"refused: {why}{said}\n", 403)


def _is_loopback(host: str) -> bool:
    """With any port: a tunnel may end at another one."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "0"
    return name in LOOPBACK and port.isascii() and port.isdigit()


def _same(given: str, known: str) -> bool:
    """Compared in a time that does not depend on where they differ."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())


def _with_headers(send: Send) -> Send:
    """What an answer is sent through: it adds the policy, where the answer has none of its own."""

    async def through(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Content-Security-Policy", POLICY)
        await send(message)

    return through
