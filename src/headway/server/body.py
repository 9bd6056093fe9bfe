"""Reads the JSON document of a request as a dataclass of the protocol."""

from __future__ import annotations

from typing import Any, TypeVar

from litestar import Request
from litestar.exceptions import ClientException, HTTPException

from headway.errors import InvalidError, TooLargeError
from headway.protocol.codec import decode
from headway.server.strict_json import decode_json

T = TypeVar("T")


async def read_document(cls: type[T], request: Request[Any, Any, Any]) -> T:
    """The body of a request; an empty one is an object without fields.

    Raises:
        InvalidError: it is not strict JSON, or a field is missing or has the wrong type; names it.
        TooLargeError: it is larger than the settings allow.
    """
    try:
        content = await request.body()
    except HTTPException as error:
        if error.status_code == 413:
            raise TooLargeError("the body is too large") from None
        raise
    except ClientException as error:
        raise InvalidError(str(error), field="body") from None
    return decode(cls, decode_json(content) if content.strip() else {})
