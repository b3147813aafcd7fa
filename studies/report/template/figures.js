// Figures are drawn when they come into view, and again for another theme.
const coarse = window.matchMedia("(pointer: coarse)").matches;
const CONFIG = {
  responsive: true,
  displaylogo: false,
  doubleClick: "reset",
  displayModeBar: coarse ? false : "hover",
  // Named one by one: none of them leaves the page.
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
};
const drawnPlots = new Map();

// How many rows a legend takes below a plot of some width.
function legendRows(traces, width) {
  const shown = traces.filter((trace) => trace.showlegend !== false && trace.name);
  let [rows, used] = [shown.length ? 1 : 0, 0];
  for (const trace of shown) {
    const entry = 6.4 * trace.name.length + 50;
    if (used > 0 && used + entry > width - 80) {
      rows += 1;
      used = 0;
    }
    used += entry;
  }
  return rows;
}

function laidOut(layout, traces, place) {
  const colours = themed({ ink: "@ink", soft: "@soft", grid: "@grid", hover: "@hover", line: "@line", edge: "@edge" });
  const narrow = place.clientWidth < 520;
  const legend = 22 * legendRows(traces, place.clientWidth);
  const base = place.classList.contains("tall") ? (narrow ? 320 : 400) : narrow ? 250 : 290;
  const axis = { gridcolor: colours.grid, zerolinecolor: colours.grid, linecolor: colours.edge, tickcolor: colours.edge, showline: true, ticks: "outside", ticklen: 4, zeroline: false };
  const merged = {
    ...layout,
    height: base + legend,
    margin: { ...layout.margin, t: layout.shapes?.length ? 26 : layout.margin.t, l: narrow ? 46 : layout.margin.l, r: narrow ? 8 : layout.margin.r, b: 54 + legend },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: narrow ? 11 : 12, color: colours.ink },
    hoverlabel: { bgcolor: colours.hover, bordercolor: colours.edge, align: "left", namelength: -1, font: { size: narrow ? 11 : 12, color: colours.ink } },
    legend: { ...layout.legend, y: 0, yref: "container", yanchor: "bottom", tracegroupgap: 3, font: { size: 11.5, color: colours.soft } },
    // On a touch screen a finger on a picture scrolls the page.
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colours.edge, activecolor: colours.ink },
    dragmode: coarse ? false : layout.dragmode ?? "zoom",
  };
  for (const key of Object.keys(layout).filter((name) => /^[xy]axis/.test(name))) {
    merged[key] = { ...axis, ...layout[key] };
  }
  return themed(merged);
}

async function draw(place, figure) {
  drawnPlots.set(place, figure);
  place.setAttribute("aria-busy", "true");
  // Entries of legends are packed into rows only where they belong to groups.
  const traces = themed(figure.data).map((trace) => ({ legendgroup: trace.name, ...trace }));
  await Plotly.react(place, traces, laidOut(figure.layout, traces, place), CONFIG);
  place.removeAttribute("aria-busy");
  place.dataset.drawn = "yes";
}

function figureOf(name) {
  return data.figures[name];
}

const viewer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      viewer.unobserve(entry.target);
      if (entry.target.dataset.figure) draw(entry.target, figureOf(entry.target.dataset.figure));
      else drawTimeline(entry.target);
    }
  },
  { rootMargin: "300px" }
);
document.querySelectorAll(".plot").forEach((place) => viewer.observe(place));

function redrawAll() {
  for (const [place, figure] of drawnPlots) draw(place, figure);
}
themeListeners.push(redrawAll);
let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  // Legends wrap anew; a phone also reports a resize when its address bar goes away.
  if (window.innerWidth === lastWidth) return;
  lastWidth = window.innerWidth;
  redrawAll();
});
window.addEventListener("beforeprint", () => {
  document.querySelectorAll(".plot[data-figure]:not([data-drawn])").forEach((place) => draw(place, figureOf(place.dataset.figure)));
});

for (const button of document.querySelectorAll("button.scale")) {
  const name = button.parentElement.dataset.for;
  const figure = figureOf(name);
  const place = document.querySelector(`.plot[data-figure="${CSS.escape(name)}"]`);
  const show = () => button.setAttribute("aria-pressed", String(figure.layout.yaxis.type === "log"));
  button.hidden = !figure.ranges.log;
  show();
  button.addEventListener("click", () => {
    const type = figure.layout.yaxis.type === "log" ? "linear" : "log";
    const marks = figure.data.find((trace) => trace.name === "nothing fits");
    if (marks) {
      const [low, high] = figure.ranges[type];
      const height = high - 0.05 * (high - low);
      marks.y = marks.y.map(() => (type === "log" ? 10 ** height : height));
    }
    figure.layout.yaxis = { ...figure.layout.yaxis, type, range: figure.ranges[type] };
    show();
    draw(place, figure);
  });
}

for (const choice of document.querySelectorAll("select.choose-figure")) {
  choice.addEventListener("change", () => {
    const place = choice.closest("details").querySelector(".plot");
    place.dataset.figure = choice.value;
    draw(place, figureOf(choice.value));
  });
}
