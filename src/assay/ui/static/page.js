/* The live view: what the server sends is put into the place that the page has for it.

   Parts come as HTML that the page's own templates made; they are parsed without running anything
   and put in where they changed. Runs come as data: only the new ones, and those of which it was
   not known yet what became of them. The pictures are drawn by the report's script. Not here: any
   number or word that Python did not make. */

"use strict";

document.addEventListener("securitypolicyviolation", (event) => {
  document.documentElement.dataset.error = `refused by the policy: ${event.violatedDirective}`;
});

{
  const SPEAK_MS = 5000;
  const place = document.querySelector("[data-events]");
  const spoken = document.getElementById("say");
  const lost = document.getElementById("lost");
  const sections = { effects: ["forest"], narrowing: ["narrowing"], runs: ["runs"] };
  Kit.charts.narrowing = Kit.charts.forest;

  let waiting = 0;
  let spokeAt = -SPEAK_MS;

  /* One sentence after the other: a screen reader would cut the first one off. */
  function say(text) {
    if (!text) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      spokeAt = performance.now();
      spoken.textContent = text;
    }, Math.max(0, spokeAt + SPEAK_MS - performance.now()));
  }

  function put(name, html) {
    const part = place.querySelector(`[data-part="${name}"]`);
    const made = new DOMParser().parseFromString(html, "text/html");
    const hadFocus = part.contains(document.activeElement) && part !== document.activeElement;
    const open = [...part.querySelectorAll("details")].map((details) => details.open);
    part.replaceChildren(...made.body.childNodes);
    part.querySelectorAll("details").forEach((details, index) => {
      if (index < open.length) details.open = open[index];
    });
    if (hadFocus) part.focus();
  }

  function takeRuns(news) {
    const known = Kit.data.runs ? Kit.data.runs.groups : [];
    const groups = news.groups.map((group, index) => {
      const before = known[index] && news.from ? known[index] : { points: [], blocks: [] };
      return {
        ...group,
        points: [...before.points.filter((p) => p.run < news.from), ...group.points],
        blocks: [...before.blocks.filter((b) => b.last < news.from), ...group.blocks],
      };
    });
    Kit.data.runs = { groups };
  }

  function draw(names) {
    const kinds = names.flatMap((name) => sections[name] || []);
    const figures = [...document.querySelectorAll("figure[data-chart]")]
      .filter((figure) => kinds.includes(figure.dataset.chart));
    Kit.draw(figures);
    document.documentElement.dataset.drawn = document.querySelectorAll(".plot > svg").length;
  }

  function show(news) {
    const changed = new Set(Object.keys(news.parts));
    for (const [name, html] of Object.entries(news.parts)) put(name, html);
    for (const [name, chart] of Object.entries(news.charts || {})) {
      Kit.data[name] = chart;
      changed.add(name === "forest" ? "effects" : name);
    }
    if (news.runs) {
      takeRuns(news.runs);
      changed.add("runs");
    }
    draw([...changed]);
    say(news.say);
    document.documentElement.dataset.share = news.share;
  }

  function warn(text) {
    lost.textContent = text;
    lost.hidden = !text;
    say(text);
  }

  function follow() {
    const source = new EventSource(place.dataset.events);
    source.addEventListener("open", () => warn(""));
    source.addEventListener("look", (event) => show(JSON.parse(event.data)));
    source.addEventListener("failed", (event) => {
      source.close();
      warn(JSON.parse(event.data).message);
    });
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) {
        warn("The page's server does not answer. The study goes on without it; `assay ui` starts it again.");
      }
    });
  }

  if (place) follow();
}
