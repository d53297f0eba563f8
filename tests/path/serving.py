"""A real HTTP server on this machine, for clients of one: it behaves as it is told, well or badly."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

__all__ = ["KEY", "Answer", "Handler", "Server", "cut_short", "dripping", "hang_up", "refusing", "serving", "well_with"]

KEY = "sk-secret-0123456789"

Answer: TypeAlias = "Callable[[Handler, dict[str, Any]], None]"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.seen.append((self.path, dict(self.headers), self.client_address[1]))
        answer = self.server.answers.pop(0) if self.server.answers else self.server.well
        answer(self, body)

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


class Server(ThreadingHTTPServer):
    """Answers as `answers` say, in turn, and `well` from then on.

    Attributes:
        requests: the bodies that came.
        seen: of each its path, headers and the client's port.
    """

    daemon_threads = True

    def __init__(self, well: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.well = well
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.seen: list[tuple[str, dict[str, str], int]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what some tests are about."""


@contextmanager
def serving(well: Answer) -> Iterator[Server]:
    with Server(well) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


# -- answers --------------------------------------------------------------------------------------------------------------


def well_with(of: Callable[[dict[str, Any]], object]) -> Answer:
    """200, with what `of` makes of a request."""
    return lambda handler, request: handler.send(200, json.dumps(of(request)).encode(), Content_Type="application/json")


def refusing(status: int, body: object = None, **headers: str) -> Answer:
    answer = json.dumps(body or {"error": {"message": f"it said {KEY}", "code": None}}).encode()
    return lambda handler, _: handler.send(status, answer, **headers)


def hang_up(handler: Handler, _: dict[str, Any]) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def cut_short(of: Callable[[dict[str, Any]], object]) -> Answer:
    """Half of the bytes that it says it sends."""

    def answer(handler: Handler, request: dict[str, Any]) -> None:
        body = json.dumps(of(request)).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2])
        handler.close_connection = True

    return answer


def dripping(handler: Handler, _: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    try:
        for _each in range(1000):
            time.sleep(0.05)
            handler.wfile.write(b" ")
            handler.wfile.flush()
    except OSError:
        handler.close_connection = True
