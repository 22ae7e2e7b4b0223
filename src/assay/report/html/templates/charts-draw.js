/* Puts every chart in the place that the page has for it, and again when the width changes. */

{
  const { data, charts, swatch } = Kit;

  function draw(figures = document.querySelectorAll("figure[data-chart]")) {
    for (const figure of figures) {
      const place = figure.querySelector(".plot");
      const section = data[figure.dataset.chart];
      const group = section.groups[Number(figure.dataset.group)];
      try {
        place.replaceChildren(charts[figure.dataset.chart](section, group, place.clientWidth));
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
  Kit.draw = draw;
  document.documentElement.dataset.drawn = document.querySelectorAll(".plot > svg").length;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 120);
  });
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.long)").forEach((details) => { details.open = true; });
  });
}
