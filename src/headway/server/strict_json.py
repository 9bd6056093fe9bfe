"""Reads the JSON of requests, strictly: what JSON has no word for is refused."""

from __future__ import annotations

from typing import Final

import msgspec

from headway.errors import InvalidError
from headway.protocol import codec

_decode: Final = msgspec.json.Decoder().decode


def decode_json(content: bytes) -> object:
    """The JSON value of a request's body.

    Text that UTF-8 has no bytes for (half of a surrogate pair, as Python's ``json`` writes undecodable file names) is mended.

    Raises:
        InvalidError: it is not strict JSON; says where.
    """
    try:
        return _decode(content)
    except (ValueError, RecursionError):
        value = codec.loads(content)
    try:
        return codec.loads(codec.dumps(value))
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"not valid JSON: {error}", field="body") from None
