/* The report's four charts, drawn with Observable Plot from the JSON in the page.

   A chart is a function (section, group, width) -> figure; `draw` puts it where the page has a
   place for it, and again when the width changes. Shapes carry what colours carry. Every mark
   that stands for data has an aria-description, by which readers and tests find it.
   Not here: any number that Python did not compute. */

"use strict";

window.addEventListener("error", (event) => {
  document.documentElement.dataset.error = event.message;
});

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NARROW = 560;
  const INK = "var(--ink)", SOFT = "var(--soft)", LINE = "var(--line)";

  const WORDS = {
    "helps": { symbol: "triangle", fill: true },
    "hurts": { symbol: "triangle", fill: true, rotate: 180 },
    "no difference": { symbol: "square", fill: true },
    "undecided": { symbol: "circle", fill: false },
    "invalid": { symbol: "times", fill: false },
  };
  const colour = (word) => `var(--${word.replace(" ", "-")})`;

  const ARM_COLOURS = 8;
  const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross"];
  const armColour = (index) => `var(--arm-${index % ARM_COLOURS})`;
  const armSymbol = (index) => SYMBOLS[index % SYMBOLS.length];

  const common = (width, label) => ({
    width,
    ariaLabel: label,
    style: { "--plot-background": "var(--paper)", color: SOFT },
  });

  const percent = (fraction) => {
    const value = 100 * fraction;
    const digits = Math.abs(value) < 10 && Math.abs(value % 1) > 1e-6 ? 1 : 0;
    const sign = value > 0 ? "+" : value < 0 ? "\u2212" : "";
    return `${sign}${Math.abs(value).toFixed(digits)}\u00a0%`;
  };

  /* About `characters` of a 12 px label, for margins. */
  const wideAs = (texts) => 7 * Math.max(0, ...texts.map((t) => t.length)) + 12;
  const shortened = (text, characters) =>
    text.length > characters ? `${text.slice(0, characters - 1)}\u2026` : text;

  // effects with intervals

  const RATIOS = [-0.99, -0.9, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 1, 2, 4, 9, 19, 49, 99, 999];

  function forest(section, group, width) {
    const at = section.logarithmic ? Math.log1p : (effect) => effect;
    const back = section.logarithmic ? Math.expm1 : (x) => x;
    const [left, right] = section.domain;
    const narrow = width < NARROW;
    const rows = group.rows.map((row, index) => ({ ...row, index }));
    const names = rows.map((row) => row.label);
    const marginLeft = narrow ? 10 : Math.min(wideAs(names), 0.34 * width);
    const characters = Math.floor((narrow ? width - 120 : marginLeft - 12) / 6.6);
    const drawn = rows.filter((row) => row.estimate !== null);
    const free = (row) => row.low === null && row.high === null;
    const arrows = drawn.flatMap((row) => [
      ...(row.low === null ? [{ ...row, at: left, glyph: "\u25c2" }] : []),
      ...(row.high === null ? [{ ...row, at: right, glyph: "\u25b8" }] : []),
    ]);
    const inRatios = RATIOS.filter((r) => r > left && r < right);
    return Plot.plot({
      ...common(width, `effects ${group.heading}`),
      height: rows.length * (narrow ? 48 : 34) + 54,
      marginLeft, marginRight: narrow ? 10 : 116, marginTop: 8, marginBottom: 42,
      x: {
        domain: [at(left), at(right)],
        label: null,
        ticks: section.logarithmic ? inRatios.map(at) : narrow ? 4 : 7,
        tickFormat: (x) => percent(back(x)),
      },
      y: { type: "point", domain: rows.map((row) => row.index), padding: 0.6, axis: null },
      marks: [
        Plot.rect([section.margin], {
          x1: () => at(-section.margin), x2: () => at(section.margin), fill: "var(--band)",
        }),
        Plot.ruleX([-section.smallest, section.smallest].map(at), {
          stroke: SOFT, strokeWidth: 1, strokeDasharray: "2,4",
        }),
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
          fontWeight: 600, frameAnchor: "right", textAnchor: narrow ? "end" : "start",
          dx: narrow ? 0 : 12, dy: narrow ? -17 : 0,
        }),
      ],
    });
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
      marginLeft: 52, marginRight: 8, marginTop: 20, marginBottom: 36,
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

  const narrowTicks = (width, last) => Math.max(1, Math.min(width < NARROW ? 4 : 10, last));

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

  /* The line and shape of an arm, beside its name in the table of quantiles. */
  function swatch(place) {
    const index = Number(place.dataset.arm);
    place.replaceChildren(Plot.plot({
      width: 32, height: 13, margin: 0, ariaHidden: "true",
      x: { axis: null, domain: [0, 1] }, y: { axis: null, domain: [0, 1] },
      marks: [
        Plot.ruleY([0.5], { stroke: armColour(index), strokeWidth: 1.8 }),
        Plot.dot([0.5], {
          x: 0.5, y: 0.5, r: 4, symbol: armSymbol(index), fill: armColour(index),
        }),
      ],
    }));
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

  // putting them in their places

  const CHARTS = { forest, runs, latency, cpus };

  function draw() {
    for (const figure of document.querySelectorAll("figure[data-chart]")) {
      const place = figure.querySelector(".plot");
      const section = data[figure.dataset.chart];
      const group = section.groups[Number(figure.dataset.group)];
      try {
        place.replaceChildren(CHARTS[figure.dataset.chart](section, group, place.clientWidth));
      } catch (error) {
        place.textContent = "This chart could not be drawn; the tables say the same.";
        document.documentElement.dataset.error = `${figure.dataset.chart}: ${error}`;
      }
    }
    document.querySelectorAll(".swatch").forEach(swatch);
  }

  let drawnAt = 0;
  let waiting = 0;
  function redraw() {
    if (Math.abs(document.body.clientWidth - drawnAt) < 8) return;
    drawnAt = document.body.clientWidth;
    draw();
  }
  redraw();
  document.documentElement.dataset.drawn = document.querySelectorAll(".plot > svg").length;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 120);
  });
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.long)").forEach((details) => { details.open = true; });
  });
})();
