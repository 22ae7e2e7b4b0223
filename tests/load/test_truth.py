"""Whether latencies tell the truth about a server that stops answering now and then."""

from __future__ import annotations

import socket

import pytest

from assay.core.errors import InputError, MissingError
from assay.load import Load, parse_url, run_load, serve
from load_samples import run_enough


def test_stalls_show_in_an_open_loop_as_arithmetic_has_them_and_hide_in_a_closed_one():
    """100 ms in each second: a tenth of the requests wait, uniformly up to 100 ms."""
    with serve("resp", stall_ms=100) as urls:
        target = parse_url(urls[0])
        asked = Load(target, "redis-get", connections=200, rate=1000, time_s=3, warmup_s=0.5)
        # A share of 0.1 (1 - t / 100 ms) waits longer than t: no less, and when the machine itself
        # stalls more, which it does not always.
        for latency in (run_load(asked).latency_ns for _ in range(10)):
            assert latency["0.99"] > 0.95 * 90e6
            assert latency["0.999"] > 0.95 * 99e6
            if latency["0.99"] < 2 * 90e6:
                break
        else:
            raise AssertionError(f"latencies are twice what arithmetic has: {latency}")
        closed = run_load(Load(target, "redis-get", connections=5, time_s=3, warmup_s=0.5))
        assert closed.service_ns["0.99"] < latency["0.99"] / 2


def test_a_file_comes_through_a_proxy_with_eight_upstreams():
    """The test of the nginx patch, all of it our own; each upstream gets its share."""
    with serve("http-file", ports=[0] * 8) as upstreams:
        places = [url.removeprefix("http://") for url in upstreams]
        with serve("http-proxy", upstreams=places) as proxy:
            load = Load(parse_url(proxy[0]), "http-get", connections=4, time_s=0.5, warmup_s=0.1)
            summary = run_enough(load, 100)
    assert summary.errors == 0


def test_servers_that_cannot_be_are_refused_with_the_reason():
    """A port of somebody else's, a proxy without upstreams, a stall longer than its period."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(MissingError, match=str(port)), serve("http-file", ports=[port]):
            pass
    with pytest.raises(InputError, match="upstreams is empty"), serve("http-proxy"):
        pass
    with pytest.raises(InputError, match="must be below"), serve("resp", stall_ms=1000):
        pass
