"""JSON over HTTP with the standard library: one POST, its retries, and nothing else.

    post ─▶ attempt ─▶ 2xx: the decoded body
             ▲    └──▶ 408, 409, 425, 429, 5xx, no connection, no answer in time: wait, try again
             └─ as long as the server asks to (Retry-After), else 0.5 s, 1 s, 2 s ... each up to a quarter shorter, by chance

A connection is kept open for the next call of its thread. Redirects are not followed, since they would take the key along.
Proxies are those of the environment, as `urllib` reads it; certificates are checked, against those of the system or of the file
that SSL_CERT_FILE names.
"""

from __future__ import annotations

import base64
import email.utils
import http.client
import os
import random
import re
import ssl
import threading
import time
import weakref
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Protocol
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from bethink.errors import BethinkError, InvalidInput

__all__ = [
    "AGAIN",
    "Failure",
    "Headers",
    "JsonClient",
    "Unsupported",
    "asked_to_wait",
    "checked_url",
    "error_code",
    "wait_before",
]

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that pass by themselves."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 20.0
_LONGEST_ASKED = 60.0
"""Seconds that a server may ask to wait for; who asks for more is not waited for."""
_PIECE = 1 << 16
_MOST_BYTES = 1 << 28
_CODE = re.compile(r"[a-z][a-z0-9_]{0,39}")
_UNSUPPORTED = frozenset({400, 404, 415, 422, 501})
"""How servers refuse what they do not know."""
_REASON = 1 << 14
"""Bytes of a refusal that are looked at for its reason."""
_NEVER_AGAIN = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""429 with one of these does not pass by itself."""


class Failure(Protocol):
    """The sort of error that a client raises: `EmbeddingFailed` or `ModelFailed`."""

    def __call__(self, who: str, problem: str, fix: str, /, *, status: int | None = None) -> BethinkError: ...


class Headers(Protocol):
    """Headers of an answer, by names in any case."""

    def get(self, name: str, /) -> str | None: ...


class Unsupported(Exception):
    """A request was refused for something that `post` was told may be the reason.

    Attributes:
        what: the name of it, a key of `post`'s `doubtful`.
        failure: the error it is, where there is no other way to ask.
    """

    def __init__(self, what: str, failure: BethinkError) -> None:
        super().__init__(what)
        self.what = what
        self.failure = failure


class _Failed(Exception):
    """An attempt that may be made again. `wait` is what the server asks for, in seconds."""

    def __init__(self, problem: str, fix: str, *, status: int | None = None, wait: float | None = None) -> None:
        super().__init__(problem)
        self.problem, self.fix, self.status, self.wait = problem, fix, status, wait


class _Open:
    """A connection, closed when its thread ends or the client goes."""

    def __init__(self, url: SplitResult) -> None:
        self.connection, self.prefix = _connect(url)
        self.process = os.getpid()
        # Not `__del__`: of garbage that refers to itself the socket may be finalised first, and warn that nobody closed it.
        weakref.finalize(self, self.connection.close).atexit = False


class JsonClient:
    """Posts JSON to one server. Safe to use from many threads and after a fork; its `repr` holds no secret.

    Args:
        who: named in errors.
        base_url: http or https, without user, query or fragment.
        headers: sent with every request; values are never shown.
        timeout: seconds of one attempt, from connecting to the last byte.
        retries: how often an attempt is made again.
        failure: what is raised when it cannot be done.

    Raises:
        InvalidInput: no such address, no time, or fewer than no retries.
    """

    def __init__(
        self, who: str, base_url: str, headers: dict[str, str], *, timeout: float, retries: int, failure: Failure
    ) -> None:
        if not timeout > 0:
            raise InvalidInput("timeout", f"{timeout}", "give seconds, above 0")
        if isinstance(retries, bool) or retries < 0:
            raise InvalidInput("retries", f"{retries}", "give 0 or more")
        self._who = who
        self._failure = failure
        self._url = checked_url(base_url)
        self._headers = {**headers, "Content-Type": "application/json", "Accept": "application/json", "User-Agent": "bethink"}
        self._timeout = timeout
        self._retries = retries
        self._open = threading.local()

    @property
    def host(self) -> str:
        return self._url.netloc

    def __repr__(self) -> str:
        return f"JsonClient({self._url.geturl()!r})"

    def post(self, path: str, value: object, *, doubtful: Mapping[str, re.Pattern[bytes]] | None = None) -> Any:
        """The decoded answer to `value`, posted to the base URL and `path`.

        Args:
            doubtful: what of the request not every server knows, by name, and how a server's refusal mentions it.

        Raises:
            BethinkError: of the sort `failure`: it was refused, or not answered as it should be however often it was sent.
            Unsupported: it was refused, and the refusal mentions what is doubtful.
        """
        body = msgspec.json.encode(value)
        attempt = 0
        while True:
            try:
                return self._attempt(path, body, doubtful or {})
            except _Failed as failed:
                self._drop()
                wait = wait_before(attempt, failed.wait)
                if attempt >= self._retries or wait is None:
                    tried = f", tried {attempt + 1} times" if attempt else ""
                    raise self._failure(self._who, failed.problem + tried, failed.fix, status=failed.status) from None
            time.sleep(wait)
            attempt += 1

    def _attempt(self, path: str, body: bytes, doubtful: Mapping[str, re.Pattern[bytes]]) -> Any:
        until = time.monotonic() + self._timeout
        fresh = not self._is_open()
        try:
            try:
                status, headers, answer = self._exchange(path, body, until)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                # The server closes what has been idle for long; only then is that no failure.
                self._drop()
                if fresh:
                    raise
                status, headers, answer = self._exchange(path, body, until)
        except TimeoutError:
            raise _Failed(f"no answer within {self._timeout:g} s", "try again later, or give a longer timeout") from None
        except ssl.SSLCertVerificationError:
            raise self._failure(
                self._who, f"the certificate of {self.host} cannot be verified", "set SSL_CERT_FILE to a file of authorities"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            problem = f"no connection to {self.host} ({type(error).__name__})"
            raise _Failed(problem, "check the base URL, the network and the server") from None
        if status in AGAIN or not 200 <= status < 300:
            self._refuse(status, headers, answer, doubtful)
        try:
            return msgspec.json.decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError):
            problem = f"{len(answer):,} bytes that are no JSON"
            raise _Failed(problem, "check that the base URL is that of an API", status=status) from None

    def _exchange(self, path: str, body: bytes, until: float) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection, target = self._connection(path)
        _limit(connection, until)
        connection.request("POST", target, body, self._headers)
        _limit(connection, until)
        response = connection.getresponse()
        pieces, size = [], 0
        while piece := response.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > _MOST_BYTES:
                raise self._failure(self._who, f"an answer of more than {_MOST_BYTES:,} bytes", "ask for less at once")
            _limit(connection, until)
        if response.length:
            raise http.client.IncompleteRead(b"")
        ends = response.will_close
        # The connection takes no other request before; reading to the last byte alone does not do it.
        response.close()
        if ends:
            self._drop()
        return response.status, response.headers, b"".join(pieces)

    def _refuse(
        self, status: int, headers: http.client.HTTPMessage, answer: bytes, doubtful: Mapping[str, re.Pattern[bytes]]
    ) -> None:
        code = error_code(_decoded(answer))
        problem = f"HTTP {status} from {self.host}" + (f" ({code})" if code else "")
        if status in AGAIN and code not in _NEVER_AGAIN:
            raise _Failed(problem, "try again later", status=status, wait=asked_to_wait(headers))
        fix = _FIXES_OF_CODES.get(code) or _FIXES.get(status, "check the model's name and the base URL")
        failure = self._failure(self._who, problem, fix, status=status)
        for what, mentioned in doubtful.items() if status in _UNSUPPORTED else ():
            if mentioned.search(answer, 0, _REASON):
                raise Unsupported(what, failure)
        raise failure

    # -- connections ------------------------------------------------------------------------------------------------------

    def _is_open(self) -> bool:
        kept: _Open | None = getattr(self._open, "kept", None)
        return kept is not None and kept.process == os.getpid()

    def _connection(self, path: str) -> tuple[http.client.HTTPConnection, str]:
        if not self._is_open():
            # One of the parent process is left to it.
            self._open.kept = _Open(self._url)
        kept: _Open = self._open.kept
        return kept.connection, f"{kept.prefix}{self._url.path.rstrip('/')}/{path}"

    def _drop(self) -> None:
        self._open.kept = None


_FIXES = {
    401: "check the API key",
    403: "check what the API key may do",
    413: "send less at once: a smaller batch_size, or a shorter prompt",
    404: "check the model's name and the base URL",
}
_SHORTER = "ask for less at once, or take a model that reads more"
_FIXES_OF_CODES = {
    "content_filter": "its content filter refused the prompt; see what it lets through, or take another model",
    "context_length_exceeded": _SHORTER,
    "exceed_context_size_error": _SHORTER,
}


def checked_url(base_url: str) -> SplitResult:
    """The parts of a base URL.

    Raises:
        InvalidInput: it is no address, or holds more than one.
    """
    refused = InvalidInput("base_url", "no http or https address", 'give one such as "http://localhost:11434/v1"')
    try:
        url = urlsplit(base_url.strip())
        known = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        raise refused from None
    if not known or not base_url.isascii() or re.search(r"[\x00-\x20\x7f]", base_url.strip()):
        raise refused
    if url.username or url.password or url.query or url.fragment:
        raise InvalidInput("base_url", "holds a user, a query or a fragment", "give the plain address, and the key as api_key")
    return url


def _connect(url: SplitResult) -> tuple[http.client.HTTPConnection, str]:
    """A connection that is made when it is first used, and what stands before the path in its requests."""
    host, secure = url.hostname or "", url.scheme == "https"
    port = url.port or (443 if secure else 80)
    found = getproxies().get(url.scheme)
    proxy = urlsplit(found if "://" in found else f"http://{found}") if found and not proxy_bypass(host) else None
    at = (host, port) if proxy is None else (proxy.hostname or "", proxy.port or 80)
    if not secure:
        return http.client.HTTPConnection(*at), "" if proxy is None else f"http://{url.netloc}"
    connection = http.client.HTTPSConnection(*at, context=ssl.create_default_context())
    if proxy is not None:
        connection.set_tunnel(host, port, _proxy_headers(proxy))
    return connection, ""


def _proxy_headers(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    given = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(given.encode()).decode()}"}


def _limit(connection: http.client.HTTPConnection, until: float) -> None:
    """No wait of this connection goes on after `until`."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    connection.timeout = left
    if connection.sock is not None:
        connection.sock.settimeout(left)


# -- waiting --------------------------------------------------------------------------------------------------------------


def wait_before(attempt: int, asked: float | None) -> float | None:
    """Seconds before the attempt after this one, the first being 0; None where the server asks for more than is waited."""
    if asked is not None:
        return asked if asked <= _LONGEST_ASKED else None
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0**attempt) * (1 - random.random() / 4)  # noqa: S311 - who waits how long is no secret


def asked_to_wait(headers: Headers) -> float | None:
    """What Retry-After says (RFC 9110, 10.2.3): seconds, or a date; None where it says nothing that can be read.

    `retry-after-ms`, which OpenAI and Azure send besides, is more exact.
    """
    exact = (headers.get("Retry-After-Ms") or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", exact):
        return float(exact) / 1000
    said = (headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", said):
        return float(said)
    try:
        at = email.utils.parsedate_to_datetime(said)
    except (TypeError, ValueError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())


def error_code(answer: object) -> str:
    """The code of a decoded error, such as "insufficient_quota". Never its message, which may quote the key or a text."""
    error = answer.get("error") if isinstance(answer, dict) else None
    told = (error.get("code"), error.get("type")) if isinstance(error, dict) else ()
    return next((code for code in told if isinstance(code, str) and _CODE.fullmatch(code)), "")


def _decoded(answer: bytes) -> object:
    try:
        return msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
