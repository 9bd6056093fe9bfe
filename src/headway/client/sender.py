"""How requests are sent: the one thing in which the synchronous and the asynchronous client differ.

Either follows a server of this machine that has moved to another port: what could not be sent to the old address is sent again,
once, to the new one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import httpx2

from headway.client.connection import Connection
from headway.client.operations import Operation
from headway.errors import ForbiddenError, UnavailableError

T = TypeVar("T")


class Sender(Connection):
    """Sends operations over ``_http``, which the client opens and closes."""

    _http: httpx2.Client

    def _call(self, operation: Operation[T], *, token: str | None = None) -> T:
        try:
            return self._send(operation, token)
        except (UnavailableError, ForbiddenError):
            if not self._moved():
                raise
        return self._send(operation, token)

    def _send(self, operation: Operation[T], token: str | None) -> T:
        try:
            response = self._http.request(
                operation.method,
                self.url + operation.target,
                content=operation.body,
                headers=self._headers(operation, token),
                extensions=self._extensions(asynchronous=False),
            )
        except httpx2.RequestError as error:
            raise self._wrapped(error, self._timeout) from error
        if response.is_success:
            return operation.read(response.content)
        raise self._refused(response, response.content)

    @contextmanager
    def _stream(self, operation: Operation[None], *, silence: float | None) -> Iterator[Iterator[bytes]]:
        if self._endpoint.local:
            self._moved()
        timeout = httpx2.Timeout(self._timeout, read=silence)
        try:
            with self._http.stream(
                operation.method,
                self.url + operation.target,
                headers=self._headers(operation, None),
                timeout=timeout,
                extensions=self._extensions(asynchronous=False),
            ) as response:
                if not response.is_success:
                    body = response.read()
                    raise self._refused(response, body)
                yield response.iter_bytes()
        except httpx2.RequestError as error:
            raise self._wrapped(error, silence or self._timeout) from error


class AsyncSender(Connection):
    """As :class:`Sender`, from an event loop."""

    _http: httpx2.AsyncClient

    async def _call(self, operation: Operation[T], *, token: str | None = None) -> T:
        try:
            return await self._send(operation, token)
        except (UnavailableError, ForbiddenError):
            if not await asyncio.to_thread(self._moved):
                raise
        return await self._send(operation, token)

    async def _send(self, operation: Operation[T], token: str | None) -> T:
        try:
            response = await self._http.request(
                operation.method,
                self.url + operation.target,
                content=operation.body,
                headers=self._headers(operation, token),
                extensions=self._extensions(asynchronous=True),
            )
        except httpx2.RequestError as error:
            raise self._wrapped(error, self._timeout) from error
        if response.is_success:
            return operation.read(response.content)
        raise self._refused(response, response.content)

    @asynccontextmanager
    async def _stream(
        self, operation: Operation[None], *, silence: float | None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self._endpoint.local:
            await asyncio.to_thread(self._moved)
        try:
            async with self._http.stream(
                operation.method,
                self.url + operation.target,
                headers=self._headers(operation, None),
                timeout=httpx2.Timeout(self._timeout, read=silence),
                extensions=self._extensions(asynchronous=True),
            ) as response:
                if not response.is_success:
                    body = await response.aread()
                    raise self._refused(response, body)
                yield response.aiter_bytes()
        except httpx2.RequestError as error:
            raise self._wrapped(error, silence or self._timeout) from error
