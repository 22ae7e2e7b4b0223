/* Two speeds of one arm: every run by what it measured, slow and fast apart in shape and word. */

{
  const { charts, NARROW, INK, SOFT, common, shortened } = Kit;

  const SPEEDS = {
    slow: { symbol: "triangle", rotate: 180, r: 4, stroke: "var(--hurts)", strokeWidth: 1.5, fill: "var(--paper)" },
    fast: { symbol: "triangle", r: 4, fill: "var(--helps)" },
    one: { symbol: "circle", r: 3.2, fill: "var(--dot)" },
  };
  const INKS = { slow: "var(--hurts)", fast: "var(--helps)", one: SOFT };

  function speeds(section, group, width) {
    const of = (key) => group.arms.flatMap((arm) => arm[key].map((it) => ({ ...it, arm: arm.arm })));
    const dots = of("dots"), marks = of("marks");
    const high = Math.max(44, Math.min(3 * section.blocks, 120));
    const values = dots.map((dot) => dot.value);
    const [low, top] = [Math.min(...values), Math.max(...values)];
    const room = 0.06 * (top - low || top || 1);
    return Plot.plot({
      ...common(width, `two speeds ${group.heading}`),
      height: group.arms.length * (high + 46) + 40,
      marginLeft: 12, marginRight: 24, marginTop: 42, marginBottom: 36,
      x: {
        domain: [low - room, top + room], label: null, ticks: width < NARROW ? 4 : 7, grid: true,
      },
      y: { domain: [section.blocks, -1], axis: null },
      fy: { domain: group.arms.map((arm) => arm.arm), axis: null, padding: 46 / (high + 46) },
      marks: [
        Plot.ruleX(marks, {
          x: "value", fy: "arm", stroke: (m) => INKS[m.speed], strokeWidth: 1.4,
          ariaDescription: "median",
        }),
        ...Object.entries(SPEEDS).map(([speed, look]) =>
          Plot.dot(dots.filter((dot) => dot.speed === speed), {
            x: "value", y: "block", fy: "arm", title: "title", ...look,
            ariaDescription: `run, ${speed}`,
          })),
        Plot.text(marks.filter((mark) => mark.speed !== "one"), {
          x: "value", fy: "arm", text: "speed", frameAnchor: "top", dy: -13,
          fill: (m) => INKS[m.speed], fontSize: 12,
        }),
        Plot.text(group.arms, {
          fy: "arm", text: (arm) => shortened(arm.heading, Math.floor((width - 40) / 7.4)),
          frameAnchor: "top-left", textAnchor: "start", dy: -27, fill: INK, fontSize: 13,
          fontWeight: 600,
        }),
      ],
    });
  }

  Object.assign(charts, { speeds });
}
