"""nginx with the sample of `deploy/nginx`, if nginx is installed."""

import getpass
import re
import resource
from pathlib import Path

from tools.dev.processes import ROOT, system_program

SAMPLE = ROOT / "deploy" / "nginx" / "academia-locations.conf"
UPSTREAMS = SAMPLE.with_name("academia-upstreams.conf")
# As docs/deploy.md has it, if this machine allows as many open files.
CONNECTIONS = 16384
_CONFIGURATION = """
daemon off;
user {user};
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
worker_processes 1;
worker_rlimit_nofile {files};
events {{ worker_connections {connections}; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {sample_folder}/academia-http.conf;
    access_log {folder}/access.log academia;
    proxy_cache_path {folder}/kept levels=1:2 keys_zone=academia:10m inactive=7d use_temp_path=off;
    proxy_cache_path {folder}/sessions keys_zone=academia_sessions:1m inactive=2h use_temp_path=off;
    {upstreams}
    # Whoever comes from this very address names the visitor, like a proxy in front (compose.conf).
    set_real_ip_from 127.0.0.1;
    real_ip_header X-Forwarded-For;
    server {{
        listen 127.0.0.1:{port};
        set $visitor_scheme $scheme;
        include {sample};
    }}
}}
"""


def nginx() -> str | None:
    """The program, or None where it is not installed."""
    return system_program("nginx")


def proxy_command(folder: Path, port: int, *web_ports: int) -> list[str] | None:
    """The command that runs nginx in front of these web hosts. None without nginx."""
    program = nginx()
    if program is None:
        return None
    folder.mkdir(parents=True)
    configure(folder, port, *web_ports)
    configuration = str(folder / "nginx.conf")
    return [program, "-e", str(folder / "error.log"), "-p", str(folder), "-c", configuration]


def configure(folder: Path, port: int, *web_ports: int) -> None:
    """Write nginx's configuration. A running nginx takes it over on SIGHUP."""
    configuration = _CONFIGURATION.format(
        folder=folder,
        sample=SAMPLE,
        sample_folder=SAMPLE.parent,
        port=port,
        user=getpass.getuser(),
        upstreams=upstreams(*web_ports),
        connections=CONNECTIONS,
        files=min(2 * CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),
    )
    (folder / "nginx.conf").write_text(configuration, encoding="utf-8")


def upstreams(*web_ports: int) -> str:
    """The sample's upstreams with these web hosts in place of its one."""
    return re.sub(
        r"server 127\.0\.0\.1:8000([^;]*;)",
        lambda line: " ".join(f"server 127.0.0.1:{port}{line[1]}" for port in web_ports),
        UPSTREAMS.read_text(encoding="utf-8"),
    )
