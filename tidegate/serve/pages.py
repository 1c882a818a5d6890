"""The page's files, read once; a browser may load nothing from anywhere else."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

FOLDER = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURE = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""What every answer bears: a page of another site can neither frame nor read it."""


def page_routes() -> list[Route]:
    """Return a route for each file; the page itself is at /look/."""
    names = sorted(
        str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.suffix in KINDS
    )
    routes = [Route(f"/look/{name}", _serve_file, name=name) for name in names]
    return [
        Route("/", _redirect_home),
        Route("/look", _redirect_home),
        Route("/look/", _serve_index),
        *routes,
    ]


async def _redirect_home(_request: Request) -> Response:
    return RedirectResponse("/look/")


async def _serve_index(request: Request) -> Response:
    return _file_response(request, "index.html")


async def _serve_file(request: Request) -> Response:
    # Only routes that were made of files there come here.
    return _file_response(request, request.url.path.removeprefix("/look/"))


def _file_response(request: Request, name: str) -> Response:
    body, tag = _read_file(name)
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, media_type=KINDS[Path(name).suffix], headers=headers)


@lru_cache(maxsize=64)
def _read_file(name: str) -> tuple[bytes, str]:
    body = (FOLDER / name).read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:16]}"'
