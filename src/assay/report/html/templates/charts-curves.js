/* Charts over an axis: what arms measured, and one comparison with its band and its crossings. */

{
  const {
    charts, NARROW, INK, SOFT, WORDS, colour, armColour, armSymbol, common, percent,
  } = Kit;

  const TICK_ROOM = 34;

  function curves(section, group, width) {
    const place = placeOf(section, group, width);
    return group.arms.length ? arms(section, group, width, place) : effects(section, group, width, place);
  }

  /* The axis that is varied, by its logarithm where the study has it so. */
  function placeOf(section, group, width) {
    const at = section.logarithmic ? Math.log : (x) => x;
    const places = group.ticks.map((t) => at(t.value));
    const room = 0.04 * (places.at(-1) - places[0] || 1);
    const domain = [places[0] - room, places.at(-1) + room];
    const marginLeft = 64, marginRight = 24;
    const pixel = (x) => ((x - domain[0]) / (domain[1] - domain[0])) * (width - marginLeft - marginRight);
    const kept = [];
    for (const tick of group.ticks) {
      const free = !kept.length || pixel(at(tick.value)) - pixel(at(kept.at(-1).value)) >= TICK_ROOM;
      if (free) kept.push(tick);
    }
    const texts = new Map(kept.map((t) => [at(t.value), t.text]));
    return {
      at,
      frame: {
        height: width < NARROW ? 280 : 340, marginLeft, marginRight, marginTop: 22, marginBottom: 40,
        x: {
          domain, label: section.axis, ticks: [...texts.keys()], tickFormat: (x) => texts.get(x) || "",
        },
      },
    };
  }

  function arms(section, group, width, { at, frame }) {
    const [foot, top] = group.domain;
    const marks = group.arms.flatMap((arm) => {
      const known = arm.points.filter((p) => p.y !== null);
      const bound = known.filter((p) => p.low !== null && p.high !== null);
      const look = armColour(arm.index);
      return [
        band(bound, at, (p) => Math.max(p.low, foot), (p) => Math.min(p.high, top), {
          fill: look, fillOpacity: 0.14, ariaDescription: `band, ${arm.arm}`,
        }),
        Plot.line(known, {
          x: (p) => at(p.value), y: "y", stroke: look, strokeWidth: 1.8,
          ariaDescription: `curve, ${arm.arm}`,
        }),
        Plot.dot(known.filter((p) => !p.saturated), {
          x: (p) => at(p.value), y: "y", r: 4.2, symbol: armSymbol(arm.index), fill: look,
          title: "title", ariaDescription: `measured, ${arm.arm}`,
        }),
        Plot.dot(arm.points.filter((p) => p.saturated), {
          x: (p) => at(p.value), y: (p) => (p.y === null ? foot : p.y), r: 5, symbol: "times",
          stroke: look, strokeWidth: 2, title: "title", ariaDescription: `saturated, ${arm.arm}`,
        }),
      ];
    });
    return Plot.plot({
      ...common(width, `curves ${group.heading}`), ...frame,
      y: { domain: group.domain, label: null, grid: true, ticks: 6, type: group.logarithmic ? "log" : "linear" },
      marks: [...marks, names(group, at)],
    });
  }

  /* The area between the lower and the upper ends of points. */
  function band(points, at, low, high, look) {
    const there = points.map((p) => ({ x: at(p.value), y: low(p) }));
    const back = points.map((p) => ({ x: at(p.value), y: high(p) })).reverse();
    return Plot.line([...there, ...back], { x: "x", y: "y", stroke: "none", ...look });
  }

  /* Each arm by its name, where its line ends. */
  function names(group, at) {
    const ends = group.arms.flatMap((arm) => {
      const known = arm.points.filter((p) => p.y !== null);
      return known.length ? [{ ...known.at(-1), arm: arm.arm, index: arm.index }] : [];
    });
    return Plot.text(ends, {
      x: (p) => at(p.value), y: "y", text: "arm", fill: (p) => armColour(p.index), fontSize: 12.5,
      textAnchor: "end", dx: -4, lineAnchor: "bottom", stroke: "var(--paper)",
      strokeWidth: 4, ariaDescription: "name",
    });
  }

  function effects(section, group, width, { at, frame }) {
    const scale = group.logarithmic ? Math.log1p : (gain) => gain;
    const back = group.logarithmic ? Math.expm1 : (x) => x;
    const [foot, top] = group.domain.map(scale);
    const low = (p) => (p.low === null ? foot : Math.max(scale(p.low), foot));
    const high = (p) => (p.high === null ? top : Math.min(scale(p.high), top));
    const known = group.effects.filter((p) => p.estimate !== null);
    return Plot.plot({
      ...common(width, `curves ${group.heading}`), ...frame,
      y: { domain: [foot, top], label: null, grid: true, ticks: 6, tickFormat: (y) => percent(back(y)) },
      marks: [
        Plot.rect([section.margin], {
          y1: () => scale(-section.margin), y2: () => scale(section.margin), fill: "var(--band)",
        }),
        ...crossings(group.crossings, at),
        Plot.ruleY([0], { stroke: INK, strokeWidth: 1 }),
        band(known, at, low, high, {
          fill: "var(--dot)", fillOpacity: 0.16, ariaDescription: "band",
        }),
        Plot.ruleX(known, {
          x: (p) => at(p.value), y1: low, y2: high, stroke: (p) => colour(p.word), strokeWidth: 2,
          ariaDescription: "interval",
        }),
        Plot.line(known, {
          x: (p) => at(p.value), y: (p) => scale(p.estimate), stroke: SOFT, strokeWidth: 1.4,
          ariaDescription: "curve",
        }),
        ...Object.entries(WORDS).map(([word, shape]) => dots(group, word, shape, at, scale, foot)),
      ],
    });
  }

  function dots(group, word, shape, at, scale, foot) {
    const hollow = word === "invalid" ? "none" : "var(--paper)";
    const paint = shape.fill
      ? { fill: colour(word) }
      : { stroke: colour(word), strokeWidth: 2.2, fill: hollow };
    return Plot.dot(group.effects.filter((p) => p.word === word), {
      x: (p) => at(p.value), y: (p) => (p.estimate === null ? foot : scale(p.estimate)), r: 5.5,
      symbol: shape.symbol, rotate: shape.rotate || 0, ...paint, title: "title",
      ariaDescription: `estimate, ${word}`,
    });
  }

  const crossings = (found, at) => [
    Plot.rect(found, {
      x1: (c) => at(c.low), x2: (c) => at(c.high), fill: "var(--undecided)", fillOpacity: 0.14,
      title: "text", ariaDescription: "crossing interval",
    }),
    Plot.ruleX(found, {
      x: (c) => at(c.value), stroke: "var(--undecided)", strokeWidth: 1.8, strokeDasharray: "5,4",
      ariaDescription: "crossing",
    }),
    Plot.text(found, {
      x: (c) => at(c.value), frameAnchor: "top", dy: -14, text: "text", fill: "var(--undecided)",
      fontSize: 12.5,
    }),
  ];

  Object.assign(charts, { curves });
}
