"""What this machine is called, and where it can listen."""

import socket

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
FIRST_PORT = 8000
PORTS_TRIED = 100


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def names_of_this_machine(host: str) -> list[str]:
    """Host headers to accept when listening on `host`: its own name in the network joins there."""
    names = list(LOOPBACK)
    if not is_loopback(host):
        name = socket.gethostname().lower()
        names += [lan_address() if host == "0.0.0.0" else host, name, f"{name}.local"]
    return list(dict.fromkeys(names))


def lan_address() -> str:
    """The address under which others in the local network reach this machine.

    Connecting a datagram socket sends nothing: it only asks the system which way it would go.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on `port`, or on the next free one from 8000 where `port` is 0.

    Raises OSError where the named port, or each of the ports tried, is taken.
    """
    ports = [port] if port else range(FIRST_PORT, FIRST_PORT + PORTS_TRIED)
    for candidate in ports:
        try:
            return socket.create_server((host, candidate), backlog=512)
        except OSError as error:
            taken = error
    raise taken
