/* Charts of any study: effects with intervals, every run, latency quantiles, evenness over CPUs. */

{
  const {
    charts, NARROW, INK, SOFT, WORDS, colour, armColour, armSymbol, common, percent, wideAs,
    shortened, scaleOf, narrowTicks,
  } = Kit;

  // effects with intervals

  function forest(section, group, width) {
    const { at, axis } = scaleOf(section);
    const [left, right] = section.domain;
    const narrow = width < NARROW;
    const rows = group.rows.map((row, index) => ({ ...row, index }));
    const names = section.groups.flatMap((g) => g.rows.map((row) => row.label));
    const marginLeft = narrow ? 10 : Math.min(wideAs(names), 0.34 * width);
    const characters = Math.floor((narrow ? width - 136 : marginLeft - 12) / 7.2);
    const drawn = rows.filter((row) => row.estimate !== null);
    const free = (row) => row.low === null && row.high === null;
    const arrows = drawn.flatMap((row) => [
      ...(row.low === null ? [{ ...row, at: left, glyph: "\u25c2" }] : []),
      ...(row.high === null ? [{ ...row, at: right, glyph: "\u25b8" }] : []),
    ]);
    return Plot.plot({
      ...common(width, `effects ${group.heading}`),
      height: rows.length * (narrow ? 48 : 34) + 54,
      marginLeft, marginRight: narrow ? 10 : 116, marginTop: 8, marginBottom: 42,
      x: axis(narrow ? 4 : 7),
      y: { type: "point", domain: rows.map((row) => row.index), padding: 0.6, axis: null },
      marks: [
        ...(section.margin ? references(section, at) : []),
        Plot.ruleX([0], { stroke: INK, strokeWidth: 1 }),
        ...[free, (row) => !free(row)].map((which, bounded) => Plot.ruleY(drawn.filter(which), {
          y: "index", stroke: (row) => colour(row.word), strokeWidth: bounded ? 2.5 : 1.2,
          strokeDasharray: bounded ? null : "1,5",
          x1: (row) => at(row.low === null ? left : row.low),
          x2: (row) => at(row.high === null ? right : row.high),
          ariaDescription: bounded ? "interval" : "unbounded",
        })),
        Plot.text(arrows, {
          x: (a) => at(a.at), y: "index", text: "glyph", fill: (a) => colour(a.word), fontSize: 17,
        }),
        ...Object.entries(WORDS).map(([word, shape]) => estimates(rows, word, shape, at)),
        Plot.text(rows, {
          y: "index", text: (row) => shortened(row.label, characters), fill: INK, fontSize: 13,
          frameAnchor: "left", textAnchor: narrow ? "start" : "end",
          dx: narrow ? 0 : -12, dy: narrow ? -17 : 0, title: "label",
          stroke: "var(--paper)", strokeWidth: 4,
        }),
        Plot.text(rows, {
          y: "index", text: "word", fill: (row) => colour(row.word), fontSize: 13,
          fontWeight: WORDS[rows[0].word].like ? 400 : 600, frameAnchor: "right",
          textAnchor: narrow ? "end" : "start",
          dx: narrow ? 0 : 12, dy: narrow ? -17 : 0,
        }),
      ],
    });
  }

  /* The margin that counts as no difference, and the smallest effect worth having. */
  function references(section, at) {
    return [
      Plot.rect([section.margin], {
        x1: () => at(-section.margin), x2: () => at(section.margin), fill: "var(--band)",
      }),
      Plot.ruleX([-section.smallest, section.smallest].map(at), {
        stroke: SOFT, strokeWidth: 1, strokeDasharray: "2,4",
      }),
    ];
  }

  function estimates(rows, word, shape, at) {
    const hollow = word === "invalid" ? "none" : "var(--paper)";
    const paint = shape.fill
      ? { fill: colour(word) }
      : { stroke: colour(word), strokeWidth: 2.2, fill: hollow };
    return Plot.dot(rows.filter((row) => row.word === word && row.estimate !== null), {
      x: (row) => at(row.estimate), y: "index", r: 5.5, symbol: shape.symbol,
      rotate: shape.rotate || 0, ...paint, ariaDescription: `estimate, ${word}`,
      title: (row) => `${row.label}: ${word} ${row.interval}`,
    });
  }

  // every run

  const STATUSES = {
    counts: { symbol: "circle", r: 3, fill: "var(--dot)" },
    aside: { symbol: "circle", r: 2.8, stroke: SOFT, strokeWidth: 1 },
    void: { symbol: "diamond", r: 4, stroke: "var(--undecided)", strokeWidth: 1.5 },
    failed: { symbol: "times", r: 4, stroke: "var(--hurts)", strokeWidth: 1.6 },
  };

  function runs(section, group, width) {
    const values = group.points.filter((p) => p.value !== null).map((p) => p.value / group.divisor);
    const low = Math.min(...values), high = Math.max(...values);
    const room = values.length ? 0.12 * (high - low || high || 1) : 1;
    const domain = values.length ? [low - 2 * room, high + room] : [0, 1];
    const points = group.points.map((p) => ({
      ...p, y: p.value === null ? domain[0] + room / 2 : p.value / group.divisor,
    }));
    const arms = group.arms.map((arm) => ({ arm, median: group.medians[arm] / group.divisor }));
    const base = group.medians[group.baseline] / group.divisor;
    const striped = group.blocks.filter((_, index) => index % 2);
    return Plot.plot({
      ...common(width, `runs ${group.heading}`),
      height: arms.length * 92 + 44,
      marginLeft: 52, marginRight: 8, marginTop: group.phases.length ? 38 : 20, marginBottom: 36,
      x: {
        domain: [group.blocks[0].first - 1, group.blocks.at(-1).last + 1], nice: false,
        label: "run", ticks: narrowTicks(width, group.blocks.at(-1).last), tickFormat: "d",
      },
      y: { domain, label: null, ticks: 3, nice: false },
      fy: { domain: group.arms, axis: null, padding: 0.22 },
      marks: [
        Plot.rect(striped, {
          x1: (b) => b.first - 0.5, x2: (b) => b.last + 0.5, fill: "var(--stripe)",
          ariaDescription: "block", title: (b) => `block ${b.block}`,
        }),
        ...(values.length ? medians(arms, base) : []),
        Plot.ruleX(group.phases.filter((p) => p.run > 0), {
          x: (p) => p.run - 0.5, stroke: INK, strokeWidth: 1, ariaDescription: "phase",
        }),
        Plot.text(group.phases, {
          x: (p) => p.run - 0.5, fy: () => arms[0].arm, text: "phase", frameAnchor: "top-left",
          textAnchor: "start", dx: 3, dy: -32, fill: SOFT, fontSize: 12,
        }),
        ...Object.entries(STATUSES).map(([status, look]) =>
          Plot.dot(points.filter((p) => p.status === status), {
            x: "run", y: "y", fy: "arm", title: "title", ...look, ariaDescription: `run, ${status}`,
          })),
        Plot.text(arms, {
          fy: "arm", text: "arm", frameAnchor: "top-left", dy: -14, dx: 0, fill: INK,
          fontSize: 13, fontWeight: 600, textAnchor: "start",
        }),
      ],
    });
  }

  function medians(arms, base) {
    const known = arms.filter((a) => Number.isFinite(a.median));
    const dashed = Number.isFinite(base) ? arms : [];
    return [
      Plot.ruleY(dashed, { y: () => base, fy: "arm", stroke: SOFT, strokeDasharray: "3,4" }),
      Plot.ruleY(known, { y: "median", fy: "arm", stroke: "var(--dot)", strokeOpacity: 0.55 }),
    ];
  }

  // latency quantiles

  const NINES = [[0, "0\u00a0%"], [0.5, "50\u00a0%"], [0.9, "90\u00a0%"], [0.99, "99\u00a0%"],
    [0.999, "99.9\u00a0%"], [0.9999, "99.99\u00a0%"], [0.99999, "99.999\u00a0%"],
    [0.999999, "99.9999\u00a0%"]];
  const nines = (q) => -Math.log10(1 - q);

  const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [0, "ns"]];
  function duration(ns) {
    const [scale, unit] = TIMES.find(([from]) => ns >= from);
    return `${Number((ns / (scale || 1)).toPrecision(3))}\u00a0${unit}`;
  }

  function latency(section, group, width) {
    const points = group.arms.flatMap((arm) => arm.points.map((p) => ({
      index: arm.index, x: nines(p.q), y: p.ns,
    })));
    const end = Math.max(...points.map((p) => p.x));
    const first = width < NARROW ? 0.5 : 0;
    const shown = NINES.filter(([q]) => q >= first && nines(q) <= end + 1e-9);
    const labels = new Map(shown.map(([q, label]) => [nines(q), label]));
    const marked = group.arms.flatMap((arm) => arm.cells.filter((c) => c.ns).map((c) => ({
      index: arm.index, x: nines(c.q), y: c.ns,
      title: `${arm.arm}: ${c.text} at ${100 * c.q} %`,
    })));
    return Plot.plot({
      ...common(width, `latency ${group.heading}`),
      height: width < NARROW ? 280 : 340,
      marginLeft: 60, marginRight: 24, marginTop: 12, marginBottom: 36,
      x: {
        domain: [0, end], label: "operations at most this slow", ticks: [...labels.keys()],
        tickFormat: (x) => labels.get(x), grid: true,
      },
      y: {
        type: section.logarithmic ? "log" : "linear", label: null, grid: true,
        ticks: 5, nice: true, tickFormat: duration,
      },
      marks: [
        Plot.line(points, {
          x: "x", y: "y", z: "index", stroke: (p) => armColour(p.index), strokeWidth: 1.8,
          ariaDescription: "quantiles",
        }),
        ...group.arms.map((arm) => Plot.dot(marked.filter((m) => m.index === arm.index), {
          x: "x", y: "y", r: 4, symbol: armSymbol(arm.index), fill: armColour(arm.index),
          title: "title", ariaDescription: `quantile, ${arm.arm}`,
        })),
      ],
    });
  }

  // evenness over CPUs

  const FEW_CPUS = 8;

  function cpus(section, group, width) {
    const dots = group.arms.flatMap((arm) => arm.cpus.map((cpu) => ({
      ...cpu, arm: arm.arm,
      title: `${arm.arm}, CPU ${cpu.cpu}: ${percent(cpu.mean).replace("+", "")} busy`,
    })));
    const numbers = [...new Set(dots.map((d) => d.cpu))].sort((a, b) => a - b);
    const few = numbers.length <= FEW_CPUS;
    const high = Math.max(26, Math.min(13 * numbers.length, 104));
    return Plot.plot({
      ...common(width, `CPUs ${group.heading}`),
      height: group.arms.length * (high + 26) + 44,
      marginLeft: few ? 52 : 12, marginRight: 24, marginTop: 22, marginBottom: 36,
      x: {
        domain: [0, 1], label: "busy", ticks: 5, grid: true,
        tickFormat: (x) => `${Math.round(100 * x)}\u00a0%`,
      },
      y: {
        type: "point", domain: numbers, padding: 0.6, axis: few ? "left" : null, label: null,
        tickFormat: (cpu) => `CPU ${cpu}`, tickSize: 0,
      },
      fy: { domain: group.arms.map((a) => a.arm), axis: null, padding: 26 / (high + 26) },
      marks: [
        Plot.ruleY(dots, {
          y: "cpu", x1: "low", x2: "high", fy: "arm", stroke: SOFT, strokeWidth: few ? 2 : 1,
          ariaDescription: "range",
        }),
        Plot.dot(dots, {
          x: "mean", y: "cpu", fy: "arm", r: few ? 4 : 2.2, fill: "var(--dot)", title: "title",
          ariaDescription: "CPU",
        }),
        Plot.text(group.arms, {
          fy: "arm", text: "arm", frameAnchor: "top-left", dy: -14, dx: few ? -40 : 0, fill: INK,
          fontSize: 13, fontWeight: 600, textAnchor: "start",
        }),
      ],
    });
  }

  Object.assign(charts, { forest, kinds: forest, runs, latency, cpus });
}
