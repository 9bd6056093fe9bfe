"""Getting in: the proof that this is the right server, one-time codes, and the login of a browser."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, Router, get, post
from litestar.datastructures import Cookie

from headway.errors import InvalidError
from headway.server.answers import TEXT, document, plain
from headway.server.auth import cookie_name
from headway.server.context import Shared
from headway.server.endpoint import Access, described
from headway.server.params import Param, read_params

Call = Request[Any, Any, Any]
_NONCE = (Param(name="nonce", default="", says="16 to 128 characters of the caller's choice."),)
_CODE = (Param(name="code", default="", says="The one-time code."),)


@get(
    "/api/v1/prove",
    opt=described(
        "Proof that the server knows the user's token: `HMAC-SHA256(token, nonce)` in hex.",
        access=Access.OPEN,
        params=_NONCE,
        kind=TEXT,
    ),
)
async def prove(request: Call, context: Shared) -> Response[bytes]:
    """Answers a nonce, so that a client need not trust a port number."""
    nonce = read_params(_NONCE, request.scope["query_string"])["nonce"]
    if not 16 <= len(nonce) <= 128:
        raise InvalidError("expected 16 to 128 characters", field="nonce")
    return plain(context.keyring.prove(nonce))


@post(
    "/api/v1/codes",
    status_code=200,
    opt=described("A one-time code that logs a browser in, and the link to open.", answer={"code": str, "url": str}),
)
async def make_code(request: Call, context: Shared) -> Response[bytes]:
    """Gives out a login code."""
    code = context.keyring.new_code()
    host = request.headers.get("host", "localhost")
    return document({"code": code, "url": f"{request.scope['scheme']}://{host}/login?code={code}"})


@get(
    "/login",
    opt=described(
        "Logs a browser in with a one-time code, and sends it to the first page.",
        access=Access.OPEN,
        params=_CODE,
        code=303,
        kind=TEXT,
    ),
)
async def login(request: Call, context: Shared) -> Response[bytes]:
    """Changes a code for a cookie."""
    context.keyring.use_code(read_params(_CODE, request.scope["query_string"])["code"])
    cookie = Cookie(
        key=cookie_name(request),
        value=context.keyring.session(),
        max_age=context.keyring.session_seconds,
        path="/",
        httponly=True,
        secure=request.scope["scheme"] == "https",
        samesite="strict",
    )
    return Response(b"", status_code=303, media_type=TEXT, headers={"location": "/"}, cookies=[cookie])


router = Router("/", route_handlers=[prove, make_code, login])
