"""Serving the page on loopback, and nowhere else."""

from __future__ import annotations

import contextlib
import socket

import uvicorn

from assay.core.errors import InputError
from assay.ui.guarding import Guard

LOOPBACK = "127.0.0.1"
GOODBYE_S = 3
"""What is still sent when the page ends gets so long."""


class _EndingServer(uvicorn.Server):
    """Tells live views that the page ends: they would go on otherwise."""

    def __init__(self, config: uvicorn.Config, page: Guard) -> None:
        super().__init__(config)
        self.page = page

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, which waits for what is still sent."""
        self.page.ending.set()
        await super().shutdown(sockets)


class UiServer:
    """A port of loopback that is taken, and what answers there. Who comes before `run` waits."""

    def __init__(self, port: int = 0) -> None:
        """InputError where the port is taken; 0 is a free one."""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((LOOPBACK, port))
            self.socket.listen()
        except (OSError, OverflowError) as error:
            self.socket.close()
            raise InputError(
                f"port {port} of {LOOPBACK} cannot be had: {error}", next_step="--port 0"
            ) from error
        self.port = int(self.socket.getsockname()[1])
        self._server: uvicorn.Server | None = None

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://{LOOPBACK}:{self.port}"

    def run(self, page: Guard) -> None:
        """Answer until Ctrl-C, or until `stop` from another thread."""
        config = uvicorn.Config(
            page,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            access_log=False,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=GOODBYE_S,
        )
        self._server = _EndingServer(config, page)
        with contextlib.suppress(KeyboardInterrupt):
            self._server.run(sockets=[self.socket])
        self.socket.close()

    def stop(self) -> None:
        """End `run`."""
        if self._server is not None:
            self._server.should_exit = True
