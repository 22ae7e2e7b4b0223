"""The differential flame graph: widths, colours, and names that are only text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from assay.explain import flame_graph, merged

SVG = "{http://www.w3.org/2000/svg}"
BEFORE = {("main", "a"): 30, ("main", "b"): 70, ("main", "gone"): 100}
AFTER = {("main", "a"): 90, ("main", "b"): 10}


def frames(svg: str) -> dict[str, tuple[float, float, str]]:
    """By name: left edge, width and colour."""
    found = {}
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None
        assert title.text is not None
        assert rect is not None
        place = float(rect.attrib["x"]), float(rect.attrib["width"])
        found[title.text.split(":")[0]] = (*place, rect.attrib["fill"])
    return found


def test_a_frame_is_as_wide_as_its_share_and_coloured_by_how_it_changed() -> None:
    found = frames(flame_graph(BEFORE, AFTER, "new", "old"))
    assert found["all"][:2] == (0.0, 1000.0)
    assert found["a"] == (0.0, 900.0, "var(--f-up-4)")
    assert found["b"] == (900.0, 100.0, "var(--f-down-4)")
    assert found["main"][2] == "var(--f-0)"
    assert "gone" not in found


def test_what_vanished_is_in_the_picture_with_the_other_widths() -> None:
    found = frames(flame_graph(BEFORE, AFTER, "new", "old", width_of="before"))
    assert found["gone"] == (500.0, 500.0, "var(--f-down-4)")
    assert found["a"][2] == "var(--f-up-4)"


def test_a_title_has_both_shares_and_what_is_between_them() -> None:
    svg = flame_graph(BEFORE, AFTER, "new", "old")
    assert "a: 90.0 % of new, 15.0 % of old (+75.0 points)" in svg


def test_names_are_text_whatever_they_hold() -> None:
    """Names come out of executables, and arms out of study files."""
    evil = '</text><script>alert("1")</script>&amp;'
    svg = flame_graph({(evil,): 9}, {(evil,): 10}, 'a"><script>', "b<&")
    assert "<script" not in svg
    titles = [t.text for t in ET.fromstring(svg).iter(f"{SVG}title")]
    assert any(t is not None and t.startswith(evil) for t in titles)


def test_nothing_sampled_is_an_empty_picture() -> None:
    assert frames(flame_graph({}, {}, "new", "old")) == {}
    assert frames(flame_graph(BEFORE, {}, "new", "old")) == {}


def test_a_tree_holds_every_sample_of_both_arms_once() -> None:
    root = merged(BEFORE, AFTER)
    assert (root.before, root.after) == (200, 100)
    above = root.above["main"].above
    assert {n: (f.before, f.after) for n, f in above.items()} == {
        "a": (30, 90),
        "b": (70, 10),
        "gone": (100, 0),
    }


def test_frames_that_nobody_could_see_are_left_out() -> None:
    chains = {("main", f"f{n}"): 1 for n in range(2000)}
    assert set(frames(flame_graph(chains, chains, "new", "old"))) == {"all", "main"}
