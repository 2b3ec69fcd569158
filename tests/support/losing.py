"""A proxy that loses the first answer to each call that changes something: it was done, and nobody knows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@contextmanager
def lose_answers(url: str) -> Iterator[tuple[str, list[str]]]:
    """The address of such a proxy before a server, and the addresses whose first answer was lost."""
    host = urlsplit(url).netloc
    seen, lost = set[str](), list[str]()

    class Losing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            connection = HTTPConnection(host, timeout=60)
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            key = self.headers.get("Idempotency-Key", f"{self.path} {len(body)}")
            if self.command == "POST" and key not in seen:
                seen.add(key)
                lost.append(self.path)
                self.close_connection = True
                return
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = pass_on  # noqa: N815  (the names that http.server looks for)

        def log_message(self, *words: object) -> None:
            """Nothing is written about calls."""

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Losing)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{proxy.server_address[1]}", lost
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join(20)
