"""A differential flame graph: one arm's profile as a picture, coloured by what changed.

A frame is a function in a chain of calls, standing on its caller; it is as wide as its share of
the samples of the arm that is drawn, and its colour is how many points of share it has more (red)
or less (blue) than in the other. What has vanished has no width: the same picture with the widths
of the other arm shows it. The SVG needs no script and nothing else: a title on every frame has
both shares, and it follows the reader's light or dark mode.

Source: Gregg, "Differential Flame Graphs" (2014).
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from assay.core.units import format_percent

WIDTH = 1000
ROW = 17
NARROWEST = 0.004
"""A frame with less than this share is left out of the picture, with all that stands on it."""

LETTER = 6.1
"""The width of a letter of the picture's type, in its own units."""

STEPS = (0.005, 0.02, 0.05, 0.15)
"""Changes of share at which a colour deepens; below the first it is none."""

STYLE = """
.flame{--f-0:#e6e3dc;--f-up-1:#fbdccb;--f-up-2:#f6b394;--f-up-3:#e9815f;--f-up-4:#d9583a;
--f-down-1:#d5e4f3;--f-down-2:#a8cbe9;--f-down-3:#73a8d8;--f-down-4:#4d8bc6;
--f-ink:#15191c;--f-soft:#5a6570}
svg.flame text{font:10px ui-monospace,Menlo,Consolas,monospace}
@media (prefers-color-scheme:dark){.flame{--f-0:#3a3f44;--f-up-1:#5b3a30;--f-up-2:#7d4231;
--f-up-3:#a14c33;--f-up-4:#bf5537;--f-down-1:#2e4256;--f-down-2:#2f5579;--f-down-3:#31699d;
--f-down-4:#347fc2;--f-ink:#f1f4f6;--f-soft:#9ba7b1}}
@media print{.flame{--f-0:#e6e3dc;--f-up-1:#fbdccb;--f-up-2:#f6b394;--f-up-3:#e9815f;
--f-up-4:#d9583a;--f-down-1:#d5e4f3;--f-down-2:#a8cbe9;--f-down-3:#73a8d8;--f-down-4:#4d8bc6;
--f-ink:#15191c;--f-soft:#444}}
.flame text{fill:var(--f-ink);pointer-events:none}.flame .soft{fill:var(--f-soft)}
.flame rect{stroke:var(--paper,Canvas);stroke-width:.5}
""".replace("\n", "")

Stacks = Mapping[tuple[str, ...], int]


@dataclass
class Frame:
    """A function in a chain: its samples in both arms, and what stands on it by name."""

    name: str
    before: int = 0
    after: int = 0
    above: dict[str, Frame] = field(default_factory=dict)


def merged(before: Stacks, after: Stacks) -> Frame:
    """Both arms' chains, outermost first, as one tree; its root holds all samples."""
    root = Frame("all")
    for stacks, is_after in ((before, False), (after, True)):
        for chain, count in stacks.items():
            frame = root
            _add(frame, count, is_after)
            for name in chain:
                frame = frame.above.setdefault(name, Frame(name))
                _add(frame, count, is_after)
    return root


def _add(frame: Frame, count: int, is_after: bool) -> None:
    if is_after:
        frame.after += count
    else:
        frame.before += count


@dataclass(frozen=True)
class _Drawn:
    """A frame's place in the picture: shares of both arms, left edge and width of 1, and level."""

    name: str
    before: float
    after: float
    left: float
    width: float
    level: int


def flame_graph(
    before: Stacks, after: Stacks, arm: str, against: str, *, width_of: str = "after"
) -> str:
    """The picture as an SVG element. `width_of`: whose samples give the widths, "after" those of
    `arm`, "before" those of `against`; colours say what `arm` has more or less in both."""
    root = merged(before, after)
    drawn = list(_placed(root, root, 0.0, 0, width_of == "after"))
    height = (max((d.level for d in drawn), default=0) + 1) * ROW
    body = "".join(_frame(d, height, arm, against) for d in drawn)
    named = html.escape(arm if width_of == "after" else against)
    label = f"Flame graph of {named}, coloured by what {html.escape(arm)} has more or less"
    return (
        f'<svg class="flame" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'viewBox="0 0 {WIDTH} {height + 2 * ROW}"><style>{STYLE}</style>{body}'
        f"{_legend(height)}</svg>"
    )


def _placed(frame: Frame, root: Frame, left: float, level: int, by_after: bool) -> Iterator[_Drawn]:
    before, after = _share(frame.before, root.before), _share(frame.after, root.after)
    width = after if by_after else before
    if width < NARROWEST:
        return
    yield _Drawn(frame.name, before, after, left, width, level)
    for name in sorted(frame.above):
        above = frame.above[name]
        yield from _placed(above, root, left, level + 1, by_after)
        left += _share(above.after, root.after) if by_after else _share(above.before, root.before)


def _share(count: int, of: int) -> float:
    return count / of if of else 0.0


def _frame(drawn: _Drawn, height: float, arm: str, against: str) -> str:
    x, width = WIDTH * drawn.left, WIDTH * drawn.width
    y = height - (drawn.level + 1) * ROW
    points = 100 * (drawn.after - drawn.before)
    title = (
        f"{drawn.name}: {_percent(drawn.after)} of {arm}, {_percent(drawn.before)} of {against} "
        f"({points:+.1f} points)"
    )
    letters = int((width - 4) / LETTER)
    text = ""
    if letters >= 3:
        name = drawn.name if len(drawn.name) <= letters else f"{drawn.name[: letters - 1]}…"
        text = f'<text x="{x + 2:.1f}" y="{y + 12}">{html.escape(name)}</text>'
    return (
        f'<g><title>{html.escape(title)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{ROW - 1}" rx="1" fill="var(--f-{_colour(drawn.after - drawn.before)})"/>'
        f"{text}</g>"
    )


def _percent(share: float) -> str:
    return format_percent(share).removeprefix("+")


def _colour(change: float) -> str:
    """The name of the colour of a change of share."""
    depth = sum(abs(change) >= step for step in STEPS)
    return f"{'up' if change > 0 else 'down'}-{depth}" if depth else "0"


def _legend(height: float) -> str:
    """What the colours mean, under the picture."""
    names = [f"down-{n}" for n in (4, 3, 2, 1)] + ["0"] + [f"up-{n}" for n in (1, 2, 3, 4)]
    y, swatch = height + ROW * 0.6, 22
    parts = [f'<text class="soft" x="0" y="{y + 11:.1f}">shrank</text>']
    for place, name in enumerate(names):
        x = 46 + place * swatch
        parts.append(
            f'<rect x="{x}" y="{y:.1f}" width="{swatch}" height="{ROW - 3}" '
            f'fill="var(--f-{name})"/>'
        )
    end = 46 + len(names) * swatch + 6
    steps = ", ".join(f"{100 * step:g}" for step in STEPS)
    parts.append(
        f'<text class="soft" x="{end}" y="{y + 11:.1f}">grew; colours deepen at {steps} points of '
        "share</text>"
    )
    return "".join(parts)
