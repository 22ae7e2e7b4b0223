"""Facts of hosts, side by side."""

from __future__ import annotations

from assay.fleet.facts import differences


def test_equal_hosts_do_not_differ() -> None:
    """Times, pools that come and go, and a little memory are no difference; nor is one host."""
    one = {"cpus": 2, "memory_bytes": 1000, "hints": [1.0], "clock": {"source": "tsc", "hz": 1}}
    two = {"cpus": 2, "memory_bytes": 1015, "hints": [2.0], "clock": {"source": "tsc", "hz": 2}}
    assert differences({"a": one, "b": two}) == []
    assert differences({"a": one}) == []


def test_what_differs_is_given_by_host() -> None:
    """Memory by more than 2 %, the clock's source, a fact that one has not."""
    one = {"memory_bytes": 1000, "clock": {"source": "tsc"}, "thp": None}
    two = {"memory_bytes": 1030, "clock": {"source": "hpet"}, "kernel": "6.1", "thp": None}
    found = {d.fact: d.values for d in differences({"a": one, "b": two})}
    assert found == {
        "kernel": {"a": "None", "b": "6.1"},
        "memory_bytes": {"a": "1000", "b": "1030"},
        "clock": {"a": "tsc", "b": "hpet"},
    }


def test_of_processor_features_those_are_given_that_not_all_have() -> None:
    """There are hundreds."""
    hosts = {"a": {"cpu_features": ["x", "y"]}, "b": {"cpu_features": ["y", "z", "w"]}, "c": {}}
    (found,) = differences(hosts)
    assert found.values == {"a": "x y", "b": "w y z", "c": "none more"}
    (found,) = differences({"a": {"cpu_features": ["y"]}, "b": {"cpu_features": ["z", "y"]}})
    assert found.values == {"a": "none more", "b": "z"}
