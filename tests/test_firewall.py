"""The firewall of `deploy/nftables.conf`, in network namespaces of the test's own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from tools.dev.processes import ROOT, end, start, system_program
from tools.stripe_sandbox.testing import wait_until

MOST = 512


def may_make_networks() -> bool:
    tools = [system_program(name) for name in ("unshare", "nft", "ip")]
    tried = ["unshare", "--net", "nft", "list", "ruleset"]
    return None not in tools and subprocess.run(tried, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not may_make_networks(), reason="needs root, nft and ip")

# Accepts connections on ports 22, 80 and 5432 of all addresses, and holds them.
SERVER = """
import resource, selectors, socket
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
waiting, held = selectors.DefaultSelector(), []
for port in (22, 80, 5432):
    waiting.register(socket.create_server(("::", port), family=socket.AF_INET6, backlog=2000,
                                          dualstack_ipv6=True), selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in waiting.select():
        held.append(key.fileobj.accept())
"""
# Opens connections and holds them. Prints how many of each row [sources, port, number] were opened.
CLIENT = """
import json, resource, socket, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
held, opened = [], []
for sources, port, number in json.loads(sys.argv[1]):
    opened.append(0)
    for each in range(number):
        source = sources[each % len(sources)]
        server = "fd00:1::1" if ":" in source else "10.9.0.1"
        try:
            held.append(socket.create_connection((server, port), 2, (source, 0)))
            opened[-1] += 1
        except OSError:
            pass
print(json.dumps(opened))
"""
ADDRESSES = ["10.9.0.2", "10.9.0.3", "fd00:1:1:1::2", "fd00:1:1:2::2", "fd00:1:2::2"]
Opened = Callable[..., list[int]]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def opened(tmp_path) -> Iterator[Opened]:
    """Open connections to a server behind the firewall, as [sources, port, number]."""
    server, client = (f"academia-{uuid4().hex[:8]}" for _ in range(2))
    run("ip", "netns", "add", server)
    run("ip", "netns", "add", client)
    log = tmp_path / "server.log"
    try:
        run("ip", "link", "add", "out", "netns", server, "type", "veth", "peer", "out",
            "netns", client)  # fmt: skip
        for namespace, addresses in ((server, ["10.9.0.1", "fd00:1::1"]), (client, ADDRESSES)):
            inside = ["ip", "-n", namespace]
            for address in addresses:
                bits = ["/32", "nodad"] if ":" in address else ["/24"]
                run(*inside, "address", "add", address + bits[0], "dev", "out", *bits[1:])
            run(*inside, "link", "set", "out", "up")
        inside = ["ip", "netns", "exec", server]
        run(*inside, "nft", "-f", str(ROOT / "deploy" / "nftables.conf"))
        with log.open("w") as written:
            process = start([*inside, sys.executable, "-c", SERVER], os.environ, written)
        try:
            wait_until(lambda: "ready" in log.read_text())

            def asked(*rows: list) -> list[int]:
                program = ["ip", "netns", "exec", client, sys.executable, "-c", CLIENT]
                return json.loads(run(*program, json.dumps(rows)))

            yield asked
        finally:
            end(process)
    finally:
        run("ip", "netns", "del", server)
        run("ip", "netns", "del", client)


def test_one_address_has_so_many_connections_and_keeps_nobody_else_out(opened):
    assert opened([["10.9.0.2"], 80, MOST + 20], [["10.9.0.3"], 80, 1]) == [MOST, 1]


def test_networks_of_a_48_have_so_many_connections_together(opened):
    two = ["fd00:1:1:1::2", "fd00:1:1:2::2"]

    assert opened([two, 80, MOST + 20], [["fd00:1:2::2"], 80, 1]) == [MOST, 1]


def test_staff_reach_ssh_and_nobody_the_database(opened):
    for source in ("10.9.0.2", "fd00:1:2::2"):
        assert opened([[source], 22, 1], [[source], 5432, 1]) == [1, 0]
