/* What the report's charts share: the data in the page, looks, and how numbers are written.

   The charts are drawn with Observable Plot. A chart is a function (section, group, width) ->
   figure in `Kit.charts`, by the name its place in the page has. Shapes carry what colours carry.
   Every mark that stands for data has an aria-description, by which readers and tests find it.
   Not here: any number that Python did not compute. */

"use strict";

window.addEventListener("error", (event) => {
  document.documentElement.dataset.error = event.message;
});

const Kit = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const NARROW = 560;
  const INK = "var(--ink)", SOFT = "var(--soft)", LINE = "var(--line)";

  const WORDS = {
    "helps": { symbol: "triangle", fill: true },
    "hurts": { symbol: "triangle", fill: true, rotate: 180 },
    "no difference": { symbol: "square", fill: true },
    "undecided": { symbol: "circle", fill: false },
    "invalid": { symbol: "times", fill: false },
    "suggests better": { symbol: "triangle", fill: false, like: "helps" },
    "suggests worse": { symbol: "triangle", fill: false, rotate: 180, like: "hurts" },
    "unclear": { symbol: "circle", fill: false, like: "soft" },
  };
  const colour = (word) => `var(--${(WORDS[word].like || word).replace(" ", "-")})`;

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

  /* About the pixels of a 13 px label, for margins. */
  const wideAs = (texts) => 7.6 * Math.max(0, ...texts.map((t) => t.length)) + 12;
  const shortened = (text, characters) =>
    text.length > characters ? `${text.slice(0, characters - 1)}\u2026` : text;

  const RATIOS = [-0.99, -0.9, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 1, 2, 4, 9, 19, 49, 99, 999];

  /* How gains stand on their axis: as they are, or as logarithms of the ratio where some are
     beyond a doubling. */
  function scaleOf({ logarithmic, domain }) {
    const at = logarithmic ? Math.log1p : (gain) => gain;
    const back = logarithmic ? Math.expm1 : (x) => x;
    const inside = RATIOS.filter((r) => r > domain[0] && r < domain[1]);
    return {
      at,
      axis: (ticks) => ({
        domain: domain.map(at),
        label: null,
        ticks: logarithmic ? inside.map(at) : ticks,
        tickFormat: (x) => percent(back(x)),
      }),
    };
  }

  const narrowTicks = (width, last) => Math.max(1, Math.min(width < NARROW ? 4 : 10, last));

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

  return {
    data, charts: {}, NARROW, INK, SOFT, LINE, WORDS, colour, armColour, armSymbol, common, percent,
    wideAs, shortened, scaleOf, narrowTicks, swatch,
  };
})();
