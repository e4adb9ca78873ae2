from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from serving.sockets import Address, CannotListen, listening, url_of


def modes(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refusal(address: Address) -> str:
    with pytest.raises(CannotListen) as caught, listening(address):
        pass
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_free_port_is_taken_and_named() -> None:
    with listening(Address(port=0)) as sockets:
        port = sockets[0].getsockname()[1]
        assert url_of(sockets[0]) == f"http://127.0.0.1:{port}"
        socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port))


def test_every_address_of_a_host_shares_one_port() -> None:
    with listening(Address(host="localhost", port=0)) as sockets:
        assert len({each.getsockname()[1] for each in sockets}) == 1
        assert len({each.family for each in sockets}) == len(sockets)


def test_a_port_in_use_is_one_clear_line() -> None:
    with listening(Address(port=0)) as sockets:
        port = sockets[0].getsockname()[1]
        assert refusal(Address(port=port)) == f"cannot listen on 127.0.0.1:{port}: Address already in use"


@pytest.mark.parametrize(
    "address", [Address(host="256.1.1.1"), Address(host="no.such.host.invalid"), Address(port=70000)]
)
def test_addresses_that_are_none(address: Address) -> None:
    assert refusal(address).startswith(f"cannot listen on {address.host}")


def test_a_unix_socket_lives_as_long_as_the_server(tmp_path: Path) -> None:
    path = tmp_path / "vela.sock"
    with listening(Address(uds=path)) as sockets:
        assert url_of(sockets[0]) == f"unix:{path}"
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert modes(path) == 0o666
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    assert not path.exists()


def test_missing_directories_are_for_the_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with listening(Address(uds=tmp_path / "a" / "b" / "vela.sock")):
        assert modes(tmp_path / "a") == 0o700
        assert modes(tmp_path / "a" / "b") == 0o700
        assert modes(tmp_path) == 0o755


def test_a_socket_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "vela.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert path.exists()
    with listening(Address(uds=path)), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


@pytest.mark.parametrize("kind", ["file", "directory", "link"])
def test_anything_else_stays_and_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "vela.sock"
    if kind == "file":
        path.write_text("mine")
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to(tmp_path / "elsewhere")
    assert refusal(Address(uds=path)) == (
        f"cannot listen on {path}: it exists and is no socket; remove it or name another path"
    )
    assert os.path.lexists(path)


def test_a_file_in_the_way_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    assert str(tmp_path / "a") in refusal(Address(uds=tmp_path / "a" / "b" / "vela.sock"))


def test_a_path_too_long_for_a_socket(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 200)
    assert "too long" in refusal(Address(uds=path))
    assert not path.exists()


def test_a_socket_of_somebody_else_is_not_unlinked(tmp_path: Path) -> None:
    path = tmp_path / "vela.sock"
    with listening(Address(uds=path)):
        path.unlink()
        path.write_text("mine")
    assert path.read_text() == "mine"


def test_the_socket_of_a_living_server_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening(Address(uds=path)):
        assert "another server answers there" in refusal(Address(uds=path))
        assert path.exists()
