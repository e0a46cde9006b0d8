"""The shop over https beside the tests: Moodle accepts no other provider."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.db import DEFAULT_DB_ALIAS, connections
from django.test.testcases import LiveServerThread, QuietWSGIRequestHandler

HOST = "127.0.0.1"


class TLSServerThread(LiveServerThread):
    """Django's server of live tests, over https."""

    context: ssl.SSLContext

    def _create_server(self, connections_override=None):
        # One test after another uses the port that Moodle knows.
        server = self.server_class(
            (self.host, self.port),
            QuietWSGIRequestHandler,
            allow_reuse_address=True,
            connections_override=connections_override,
        )
        server.base_environ["HTTPS"] = "on"
        # The handshake belongs to the thread of the connection, not to the one that accepts it.
        server.socket = self.context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        return server


@contextmanager
def tls_shop(folder: Path, port: int) -> Iterator[str]:
    """Serve the shop of the test database with the folder's shop.crt; yields its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "shop.crt", folder / "shop.key")
    override = {}
    # Not the proxy `django.db.connection`, which is another one in each thread.
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite":
        connection.inc_thread_sharing()
        override = {DEFAULT_DB_ALIAS: connection}
    thread = TLSServerThread(HOST, StaticFilesHandler, connections_override=override, port=port)
    thread.context, thread.daemon = context, True
    thread.start()
    thread.is_ready.wait()
    if thread.error:
        raise thread.error
    before = settings.SITE_URL, settings.CSRF_TRUSTED_ORIGINS
    url = f"https://{HOST}:{thread.port}"
    settings.SITE_URL, settings.CSRF_TRUSTED_ORIGINS = url, [url]
    try:
        yield url
    finally:
        settings.SITE_URL, settings.CSRF_TRUSTED_ORIGINS = before
        thread.terminate()
        if override:
            connection.dec_thread_sharing()
