/* Charts of designs beyond one contrast: what a screen suggests, gain against effort, throughput
   over threads. */

{
  const {
    charts, NARROW, INK, SOFT, LINE, armColour, armSymbol, common, shortened, scaleOf,
  } = Kit;

  /* A screen's effects look like any others, but hollow. */
  const screen = (section, group, width) => charts.forest(section, group, width);

  // gain against effort

  const NAME_LENGTH = 28;
  const CHARACTER = 6.9, BOLD = 7.6, LINE_HIGH = 15, AIR = 4;

  function best(section, group, width) {
    const narrow = width < NARROW;
    const { at, axis } = scaleOf(group);
    const place = frameOf(group, width, narrow ? 340 : 430, at);
    const points = group.points.map((p) => ({
      ...p, y: at(p.low), top: p.high === null ? place.y[1] : at(p.high),
      title: `${p.arm}: ${p.interval || "compared with"}${p.out ? `\nbeaten: ${p.out}` : ""}`,
    }));
    const front = group.front.map((p) => ({ x: p.x, y: at(p.low) }));
    const places = group.slots.map((_, k) => k);
    return Plot.plot({
      ...common(width, "gain against effort"),
      height: place.height,
      marginLeft: place.left, marginRight: place.right, marginTop: place.top,
      marginBottom: place.bottom,
      x: {
        domain: place.x, label: "effort", ticks: places, tickSize: 0,
        tickFormat: (k) => effortName(group.slots[k], narrow),
      },
      y: { ...axis(6), grid: false },
      marks: [
        Plot.ruleX(places.slice(1), { x: (k) => k - 0.5, stroke: LINE }),
        Plot.ruleY([0], { stroke: INK }),
        Plot.line(front, {
          x: "x", y: "y", curve: "step-after", stroke: INK, strokeWidth: 1.4,
          ariaDescription: "front",
        }),
        Plot.ruleX(points.filter((p) => !p.baseline), {
          x: "x", y1: "y", y2: "top", stroke: (p) => (p.out ? SOFT : "var(--dot)"),
          strokeWidth: (p) => (p.out ? 1.4 : 2.6), ariaDescription: "gain interval",
        }),
        ...dots(points),
        ...names(points, front, place),
      ],
    });
  }

  const effortName = (slot, narrow) =>
    narrow || !slot.text ? slot.letter : `${slot.letter}\n${slot.text}`;

  /* Pixels of the frame, and the two scales into it and back: names are placed by pixels. */
  function frameOf(group, width, height, at) {
    const [left, right, top, bottom] = [56, 12, 16, 54];
    const x = [-0.5, group.slots.length - 0.5];
    const y = group.domain.map(at);
    const wide = width - left - right, high = height - top - bottom;
    return {
      width, height, left, right, top, bottom, x, y,
      across: (slot) => left + ((slot - x[0]) / (x[1] - x[0])) * wide,
      down: (gain) => top + ((y[1] - gain) / (y[1] - y[0])) * high,
      slotAt: (pixel) => x[0] + ((pixel - left) / wide) * (x[1] - x[0]),
      gainAt: (pixel) => y[1] - ((pixel - top) / high) * (y[1] - y[0]),
    };
  }

  function dots(points) {
    const looks = [
      ["baseline", (p) => p.baseline, { symbol: "square", r: 5, fill: INK }],
      ["inside", (p) => !p.baseline && !p.out, { r: 5, fill: "var(--dot)" }],
      ["out", (p) => !p.baseline && p.out, { r: 4, stroke: SOFT, strokeWidth: 1.6, fill: "var(--paper)" }],
    ];
    return [
      Plot.dot(points.filter((p) => p.sweet), {
        x: "x", y: "y", r: 10, stroke: "var(--helps)", strokeWidth: 2.4,
        ariaDescription: "sweet spot",
      }),
      ...looks.map(([name, which, look]) => Plot.dot(points.filter(which), {
        x: "x", y: "y", title: "title", ...look, ariaDescription: `arm, ${name}`,
      })),
      Plot.dot(points.filter((p) => p.word === "invalid"), {
        x: "x", y: "y", r: 6, symbol: "times", stroke: "var(--invalid)", strokeWidth: 2,
        ariaDescription: "arm, invalid",
      }),
    ];
  }

  /* The names of arms, where there is room for them: first those that matter most, which may lie
     across the front's line if need be. */
  function names(points, front, place) {
    const px = (p) => ({ x: place.across(p.x), y: place.down(p.y), top: place.down(p.top) });
    const taken = points.flatMap((p) => {
      const { x, y, top } = px(p);
      const reach = p.sweet ? 12 : 7;
      return [[x - reach, y - reach, x + reach, y + reach], [x - 3, top, x + 3, y]];
    });
    const steps = front.flatMap((p, k) => {
      const next = front[k + 1];
      if (!next) return [];
      const [x1, y1] = [place.across(p.x), place.down(p.y)];
      const [x2, y2] = [place.across(next.x), place.down(next.y)];
      return [[x1, y1 - 1, x2, y1 + 1], [x2 - 1, Math.min(y1, y2), x2 + 1, Math.max(y1, y2)]];
    });
    const zero = [place.left, place.down(0) - 1, place.width, place.down(0) + 1];
    const weight = (p) => 4 * p.sweet + 2 * p.front + !p.out + 3 * p.baseline;
    const found = [];
    for (const p of [...points].sort((a, b) => weight(b) - weight(a))) {
      const name = shortened(p.arm, NAME_LENGTH);
      const wide = name.length * (p.sweet ? BOLD : CHARACTER);
      const far = p.front || !p.out;
      const spot = room(wide, far, px(p), [...taken, ...steps, zero], place)
        || (far && room(wide, far, px(p), taken, place));
      if (!spot) continue;
      taken.push(spot.box);
      found.push({ ...p, ...spot, name });
    }
    return ["start", "middle", "end"].flatMap((anchor) => [true, false].map((sweet) =>
      Plot.text(found.filter((f) => f.anchor === anchor && f.sweet === sweet), {
        x: (f) => place.slotAt(f.at[0]), y: (f) => place.gainAt(f.at[1]), text: "name",
        textAnchor: anchor, fontSize: 12.5, fill: (f) => (f.out ? SOFT : INK),
        fontWeight: sweet ? 700 : 400, stroke: "var(--paper)", strokeWidth: 4,
        ariaDescription: "name",
      })));
  }

  /* The first place around an arm in which a name of this width touches nothing; not far from it
     unless the arm matters. */
  function room(wide, far, { x, y, top }, taken, place) {
    const half = LINE_HIGH / 2;
    const beside = (dy) => [["start", x + 12, y + dy], ["end", x - 12, y + dy]];
    const above = (dy) => [["middle", x, top - dy], ["end", x + 8, top - dy], ["start", x - 8, top - dy]];
    const spots = [
      ...beside(0), ...above(12), ["middle", x, y + 18], ...beside(13), ...beside(-13),
      ["start", x + 9, top + half], ["end", x - 9, top + half],
      ["start", x + 9, (y + top) / 2], ["end", x - 9, (y + top) / 2],
      ...(far ? [...above(28), ...above(44)] : []),
    ];
    for (const [anchor, across, down] of spots) {
      const from = across - { start: 0, middle: wide / 2, end: wide }[anchor];
      const box = [from - AIR, down - half, from + wide + AIR, down + half];
      const outside = box[0] < place.left || box[2] > place.width - 2
        || box[1] < 0 || box[3] > place.height - place.bottom;
      if (!outside && !taken.some((other) => touch(box, other))) {
        return { anchor, at: [across, down], box };
      }
    }
    return null;
  }

  const touch = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

  // throughput over threads

  const TICK_ROOM = 30;

  function scaling(section, group, width) {
    const marginLeft = 60, marginRight = 24;
    const { levels } = section;
    const from = section.logarithmic ? levels[0] / 1.15 : 0;
    const to = section.logarithmic ? levels.at(-1) * 1.15 : levels.at(-1) * 1.04;
    const at = section.logarithmic ? Math.log2 : (n) => n;
    const back = section.logarithmic ? (x) => Math.round(2 ** x) : (x) => x;
    const pixel = (n) => ((at(n) - at(from)) / (at(to) - at(from))) * (width - marginLeft - marginRight);
    const flat = (name) => group.curves.flatMap((c) =>
      c[name].map((p) => ({ ...p, index: c.index, configuration: c.configuration })));
    const points = flat("points");
    const high = Math.max(...points.map((p) => p.value), ...flat("curve").map((p) => p.value));
    return Plot.plot({
      ...common(width, `scaling ${group.heading}`),
      height: width < NARROW ? 300 : 380,
      marginLeft, marginRight, marginTop: 24, marginBottom: 40,
      x: {
        domain: [at(from), at(to)], label: "threads", ticks: apart(levels, pixel).map(at),
        tickFormat: (x) => String(back(x)),
      },
      y: {
        domain: [0, (1.06 * high) / section.divisor], label: null, grid: true, ticks: 6,
      },
      marks: [
        ...(section.beyond ? cpus(section.cpus, at) : []),
        Plot.line(flat("curve"), {
          x: (p) => at(p.threads), y: (p) => p.value / section.divisor, z: "index",
          stroke: (p) => armColour(p.index), strokeWidth: 1.8, ariaDescription: "fit",
        }),
        ...peaks(section, group.curves.filter((c) => c.peak_at), at),
        ...group.curves.map((c) => Plot.dot(points.filter((p) => p.index === c.index), {
          x: (p) => at(p.threads), y: (p) => p.value / section.divisor, r: c.index ? 3.8 : 5.4,
          symbol: armSymbol(c.index), fill: armColour(c.index), title: (p) => `${c.configuration}: ${p.text}`,
          ariaDescription: `measured, ${c.configuration}`,
        })),
      ],
    });
  }

  /* The levels whose numbers have room beside each other on the axis. */
  function apart(levels, pixel) {
    const kept = [];
    for (const n of levels) {
      if (!kept.length || pixel(n) - pixel(kept.at(-1)) >= TICK_ROOM) kept.push(n);
    }
    return kept;
  }

  const cpus = (count, at) => [
    Plot.ruleX([count], { x: at, stroke: SOFT, strokeDasharray: "4,4", ariaDescription: "CPUs" }),
    Plot.text([count], {
      x: at, frameAnchor: "top", dy: -16, text: (n) => `${n} CPUs`, fill: SOFT, fontSize: 12,
    }),
  ];

  /* Where throughput peaks: the interval as a bar on the curve, the estimate as a tick. */
  function peaks(section, curves, at) {
    const marks = curves.map((c) => ({
      index: c.index, x: at(c.peak_at.threads), low: at(Math.max(c.peak_at.low, section.levels[0])),
      high: at(c.peak_at.high), y: c.peak_at.value / section.divisor,
      title: `${c.configuration}: peak near ${c.peak}`,
    }));
    const stroke = (p) => armColour(p.index);
    return [
      Plot.ruleX(marks, {
        x: "x", y1: 0, y2: "y", stroke, strokeDasharray: "1,4", strokeWidth: 1.2,
      }),
      Plot.ruleY(marks, {
        x1: "low", x2: "high", y: "y", stroke, strokeWidth: 7, strokeOpacity: 0.35,
        title: "title", ariaDescription: "peak interval",
      }),
      Plot.ruleX(marks, {
        x: "x", y1: (p) => 0.96 * p.y, y2: (p) => 1.04 * p.y, stroke, strokeWidth: 2.2,
        ariaDescription: "peak",
      }),
    ];
  }

  Object.assign(charts, { screen, scaling, best });
}
