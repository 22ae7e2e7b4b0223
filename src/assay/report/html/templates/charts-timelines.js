/* Runs over their window: the throughput of each, with its stalls, and what was counted meanwhile. */

{
  const { charts, NARROW, INK, SOFT, armColour, armSymbol, common, shortened, narrowTicks } = Kit;

  const rows = (lines) => lines.flatMap((line) => line.points.map(([x, y]) => ({ ...line, x, y })));
  const ends = (points) => [0, Math.max(...points.map((p) => p.x)) * 1.02];
  const fitting = (text, width) => shortened(text, Math.floor((width - 70) / 7.4));

  function timelines(section, group, width) {
    const runs = rows(group.arms.flatMap((arm) =>
      arm.lines.map((points, run) => ({ arm: arm.arm, run: `${arm.arm} ${run}`, points }))));
    const medians = rows(group.arms.map((arm) => ({ arm: arm.arm, points: arm.median })));
    const stalls = group.arms.flatMap((arm) => arm.stalls.map((mark) => ({ ...mark, arm: arm.arm })));
    const top = Math.max(...runs.map((p) => p.y));
    return Plot.plot({
      ...common(width, `throughput over the window ${group.heading}`),
      height: group.arms.length * 130 + 44,
      marginLeft: 52, marginRight: 12, marginTop: 26, marginBottom: 36,
      x: {
        domain: ends(medians), label: "seconds of the window", ticks: narrowTicks(width, 10),
      },
      y: { domain: [0, top * 1.05], label: null, ticks: 3, grid: true },
      fy: { domain: group.arms.map((arm) => arm.arm), axis: null, padding: 0.24 },
      marks: [
        Plot.line(runs, {
          x: "x", y: "y", z: "run", fy: "arm", stroke: "var(--dot)", strokeOpacity: 0.28,
          strokeWidth: 1, ariaDescription: "run",
        }),
        Plot.line(medians, {
          x: "x", y: "y", z: "arm", fy: "arm", stroke: INK, strokeWidth: 1.8,
          ariaDescription: "median",
        }),
        Plot.dot(stalls, {
          x: "at", y: "value", fy: "arm", symbol: "triangle", rotate: 180, r: 5,
          fill: "var(--paper)", stroke: "var(--hurts)", strokeWidth: 2, title: "title",
          ariaDescription: "stall",
        }),
        Plot.text(group.arms, {
          fy: "arm", text: (arm) => fitting(arm.heading, width), frameAnchor: "top-left",
          dy: -15, textAnchor: "start", fill: INK, fontSize: 13, fontWeight: 600,
        }),
      ],
    });
  }

  function meanwhile(section, group, width) {
    const lines = rows(group.panels.flatMap((panel) =>
      panel.lines.map((line) => ({ ...line, panel: panel.name }))));
    const few = group.panels[0].lines[0].points.length <= 24;
    const dots = few ? lines : [];
    return Plot.plot({
      ...common(width, `meanwhile ${group.heading}`),
      height: group.panels.length * 84 + 44,
      marginLeft: 12, marginRight: 12, marginTop: 26, marginBottom: 36,
      x: { domain: ends(lines), label: "seconds of the window", ticks: narrowTicks(width, 10) },
      y: { domain: [0, 1.05], axis: null },
      fy: { domain: group.panels.map((panel) => panel.name), axis: null, padding: 0.34 },
      marks: [
        Plot.ruleY(group.panels, { y: () => 0, fy: "name", stroke: SOFT, strokeWidth: 1 }),
        Plot.line(lines, {
          x: "x", y: "y", z: (p) => `${p.panel} ${p.arm}`, fy: "panel",
          stroke: (p) => armColour(p.index), strokeWidth: 1.6, ariaDescription: "series",
        }),
        ...group.arms.map((arm) => Plot.dot(dots.filter((p) => p.index === arm.index), {
          x: "x", y: "y", fy: "panel", r: 2.6, symbol: armSymbol(arm.index),
          fill: armColour(arm.index),
        })),
        Plot.text(group.panels, {
          fy: "name", text: (p) => fitting(`${p.title}, up to ${p.top}`, width),
          frameAnchor: "top-left", dy: -15, textAnchor: "start", fill: INK,
          fontSize: width < NARROW ? 12 : 13,
        }),
      ],
    });
  }

  Object.assign(charts, { timelines, meanwhile });
}
