"""Who may see the page: refusals by host, site, token, cookie, origin and form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.ui import UiServer
from ui_kit import Visitor, served


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who has not entered yet."""
    with served(tmp_path) as found:
        yield found


def test_a_link_with_the_token_opens_the_page(visitor: Visitor) -> None:
    """Once; the token leaves the address, and a cookie that no script and no other site has takes
    its place."""
    found = visitor.ask(f"/studies?token={visitor.access.token}")
    assert (found.status, found.headers["location"]) == (303, "/studies")
    cookie = found.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert visitor.access.token not in cookie
    assert "Bundles" in visitor.enter().page("/")


@pytest.mark.parametrize(
    "path", ["/", "/studies", "/static/page.js", "/ledger", "/?token=wrong", "/?token=", "/nothing"]
)
def test_without_the_token_nothing_is_shown(visitor: Visitor, path: str) -> None:
    """Not even what is no secret."""
    assert visitor.ask(path).status == 403
    visitor.headers["Cookie"] = f"{visitor.access.name}=wrong"
    assert visitor.ask(path).status == 403
    visitor.headers["Cookie"] = 'one="; two=\\'
    assert visitor.ask(path).status == 403


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example:1", "",
     "127.0.0.1:x", "[::1].evil.example", "127.0.0.1@evil.example:80", "0.0.0.0:80"],
)  # fmt: skip
def test_a_name_that_only_leads_here_is_refused(visitor: Visitor, host: str) -> None:
    """With the cookie too: a stranger's page that resolves its name to loopback has no cookie, but
    checks do not lean on one another."""
    visitor.enter()
    found = visitor.ask("/", Host=host)
    assert found.status == 403
    assert "localhost only" in found.text


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:1", "[::1]:80"])
def test_loopback_is_answered_at_any_port(visitor: Visitor, host: str) -> None:
    """A tunnel may end at another one."""
    assert visitor.enter().ask("/", Host=host).status == 200


def test_what_another_site_loads_is_refused(visitor: Visitor) -> None:
    """A picture, a frame or a script of its page, also of another port here; a link is followed."""
    visitor.enter()
    for site in ("cross-site", "same-site"):
        for mode, what in (("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe")):
            asked = {"Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": what}
            assert visitor.ask("/", Sec_Fetch_Site=site, **asked).status == 403
        assert visitor.ask("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate").status == 200
    assert visitor.ask("/", Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="cors").status == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1"]
)
def test_a_form_of_another_page_is_refused(visitor: Visitor, origin: str | None) -> None:
    """By its origin, whatever else it knows."""
    visitor.enter()
    body = f"form={visitor.access.form}&server=x&seconds=1"
    assert visitor.ask("/doctor", "POST", body, Origin=origin).status == 403


@pytest.mark.parametrize("form", ["", "wrong", "%FF"])
def test_a_form_without_its_token_is_refused(visitor: Visitor, form: str) -> None:
    """Of this origin too."""
    visitor.enter()
    own = f"http://127.0.0.1:{visitor.port}"
    assert visitor.ask("/doctor", "POST", f"form={form}", Origin=own).status == 403
    assert visitor.ask("/doctor", "POST", "x=y", Origin=own).status == 403


def test_a_form_that_is_too_large_is_refused(visitor: Visitor) -> None:
    """And so is one that is no form, and a method that no page has."""
    visitor.enter()
    own = f"http://127.0.0.1:{visitor.port}"
    assert visitor.ask("/doctor", "POST", "x" * 20_000, Origin=own).status == 413
    assert visitor.ask("/doctor", "POST", "form=ä", Origin=own).status == 400
    assert visitor.ask("/", "PUT", "", Origin=own).status == 405
    assert visitor.ask("/", "POST", f"form={visitor.access.form}", Origin=own).status == 405


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example", "///evil.example"])
def test_the_link_never_leads_to_another_machine(visitor: Visitor, path: str) -> None:
    """An address of two slashes names a host."""
    found = visitor.ask(f"{path}?token={visitor.access.token}")
    place = found.headers["location"]
    assert place.startswith("/")
    assert not place.startswith(("//", "/\\"))


def test_every_answer_carries_the_policy(visitor: Visitor) -> None:
    """Refusals and files too: nothing inline, nothing from elsewhere, in nobody's frame."""
    refused = visitor.ask("/")
    visitor.enter()
    for found in (refused, visitor.ask("/"), visitor.ask("/static/page.js"), visitor.ask("/x")):
        policy = found.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert "frame-ancestors 'none'" in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["cache-control"] == "no-store"
        assert "server" not in found.headers


def test_without_tokens_the_other_checks_stay(tmp_path: Path) -> None:
    """Every user of the machine may come, and no stranger's page."""
    with served(tmp_path, token=False) as visitor:
        assert visitor.ask("/").status == 200
        assert visitor.ask("/", Host="evil.example").status == 403
        assert visitor.ask("/doctor", "POST", "", Origin="http://evil.example").status == 403


def test_it_listens_on_loopback_only() -> None:
    """And a port that is taken is said."""
    first = UiServer()
    assert first.socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(InputError, match=f"port {first.port}"):
        UiServer(first.port)
    first.socket.close()


def test_an_address_that_is_none_is_a_page(visitor: Visitor) -> None:
    """With the way back."""
    found = visitor.enter().ask("/nothing")
    assert found.status == 404
    assert 'href="/"' in found.text
    assert visitor.ask("/static/../guarding.py").status == 404
    assert visitor.ask("/static/guarding.py").status == 404
