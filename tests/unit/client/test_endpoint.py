"""Which server a client talks to."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.client.endpoint import Endpoint, resolve
from headway.errors import SettingsError, UnavailableError
from headway.reporter.discovery import ServerRecord, write_record
from headway.reporter.folders import Folders


def test_an_address_given_wins_over_the_environment(tmp_path: Path) -> None:
    environ = {"HEADWAY_URL": "http://elsewhere:1", "HEADWAY_TOKEN": "t", "HEADWAY_HOME": str(tmp_path)}
    assert resolve("http://here:2/", "u", environ=environ) == Endpoint(url="http://here:2", token="u")
    assert resolve("http://here:2", environ=environ).token == "t"
    assert resolve(environ=environ) == Endpoint(url="http://elsewhere:1", token="t")


def test_the_token_may_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    environ = {"HEADWAY_URL": "https://far:443", "HEADWAY_TOKEN_FILE": str(file), "HEADWAY_CA_FILE": "/ca.pem"}
    assert resolve(environ=environ) == Endpoint(url="https://far:443", token="secret", ca_file="/ca.pem")
    environ["HEADWAY_TOKEN_FILE"] = str(tmp_path / "none")
    with pytest.raises(SettingsError, match="HEADWAY_TOKEN_FILE"):
        resolve(environ=environ)


@pytest.mark.parametrize("url", ["localhost:4321", "ftp://host", "http://", "nonsense"])
def test_an_address_that_is_none_is_said(url: str) -> None:
    with pytest.raises(SettingsError, match=r"http://127\.0\.0\.1:4321"):
        resolve(url)


def test_without_a_server_it_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="headway server start"):
        resolve(environ={"HEADWAY_HOME": str(tmp_path)})


def test_a_stale_record_is_no_server(tmp_path: Path) -> None:
    folders = Folders.from_env({"HEADWAY_HOME": str(tmp_path)})
    write_record(folders.server_record, ServerRecord(url="http://127.0.0.1:9", token="t", pid=1, version="0"))
    with pytest.raises(UnavailableError, match="headway server start"):
        resolve(folders=folders)


def test_proxies_have_no_say_on_this_machine() -> None:
    for url in ("http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "http://127.8.8.8"):
        assert Endpoint(url=url).loopback
    for url in ("http://10.0.0.1:1", "https://headway.example"):
        assert not Endpoint(url=url).loopback


def test_a_certificate_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    assert Endpoint(url="https://x").ssl_context() is True
    assert Endpoint(url="http://127.0.0.1:1", ca_file="/none").ssl_context() is False
    with pytest.raises(SettingsError, match="HEADWAY_CA_FILE"):
        Endpoint(url="https://x", ca_file=str(tmp_path / "none.pem")).ssl_context()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999", "http://127.0.0.1:0", "http://[::1", "127.0.0.1:4321", "ftp://far"]
)
def test_what_is_no_address_names_the_variable(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^HEADWAY_URL=.* is no server address"):
        resolve(environ={"HEADWAY_URL": url})


def test_an_empty_token_file_is_said_to_be_empty(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"token is empty$"):
        resolve(environ={"HEADWAY_URL": "http://far", "HEADWAY_TOKEN_FILE": str(file)})
