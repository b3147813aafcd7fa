// Schedules over time: memory above, lanes of operations and transfers below, on one axis.
const KIND_COLOURS = {
  forward: "@blue",
  "first computation": "@blue",
  backward: "@green",
  recomputation: "@orange",
  "to the host": "@purple",
  "from the host": "@sky",
  waiting: "@grey",
};
const BYTE_UNITS = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]];
const TIME_UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function unitFor(amount, units) {
  return units.find(([, size]) => amount >= size) ?? units[units.length - 1];
}
function grouped(amount) {
  return String(amount).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}
function humanBytes(amount) {
  const [name, size] = unitFor(amount, BYTE_UNITS);
  return name === "B" ? `${amount} B` : `${(amount / size).toFixed(2)} ${name}`;
}
function exactBytes(amount) {
  return `${humanBytes(amount)} (${grouped(amount)} bytes)`;
}
function humanTime(amount) {
  const [name, size] = unitFor(amount, TIME_UNITS);
  return name === "ns" ? `${amount} ns` : `${Number((amount / size).toPrecision(4))} ${name}`;
}
function exactTime(amount, clock) {
  return clock === "ns" ? `${humanTime(amount)} (${grouped(amount)} ns)` : `time ${grouped(amount)}`;
}
function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
function summed(differences) {
  let total = 0;
  return differences.map((difference) => (total += difference));
}

function timelineFigure(timeline) {
  const { bars, clock } = timeline;
  const [timeName, timeSize] = clock === "ns" ? unitFor(timeline.end, TIME_UNITS) : ["time of the instance", 1];
  const [memoryName, memorySize] = unitFor(Math.max(timeline.peak, timeline.limit ?? 0), BYTE_UNITS);
  const starts = summed(bars.start);
  const when = summed(timeline.memory.when);
  const sizes = summed(timeline.memory.size);
  const end = timeline.end / timeSize || 1;
  const traces = [
    {
      type: "scatter",
      mode: "lines",
      name: "memory in use",
      x: when.map((moment) => moment / timeSize),
      y: sizes.map((size) => size / memorySize),
      text: sizes.map((size, place) => `<b>${exactBytes(size)}</b><br>from ${exactTime(when[place], clock)}`),
      line: { color: "@ink", width: 1.2, shape: "hv" },
      fill: "tozeroy",
      fillcolor: "@fill",
      hovertemplate: "%{text}<extra></extra>",
      xaxis: "x",
      yaxis: "y",
    },
  ];
  timeline.kinds.forEach((kind, number) => {
    const mine = bars.kind.flatMap((value, place) => (value === number ? [place] : []));
    traces.push({
      type: "bar",
      orientation: "h",
      name: kind,
      base: mine.map((place) => starts[place] / timeSize),
      x: mine.map((place) => bars.length[place] / timeSize),
      y: mine.map((place) => timeline.lanes[bars.lane[place]]),
      hovertext: mine.map((place) => {
        const [start, length] = [starts[place], bars.length[place]];
        return [
          `<b>${plain(timeline.labels[bars.label[place]])}</b>`,
          plain(kind),
          `from ${exactTime(start, clock)}`,
          `to ${exactTime(start + length, clock)}`,
          `takes ${exactTime(length, clock)}`,
        ].join("<br>");
      }),
      hovertemplate: "%{hovertext}<extra></extra>",
      textposition: "none",
      marker: { color: KIND_COLOURS[kind] ?? "@ink", line: { width: mine.length < 150 ? 0.6 : 0, color: "@surface" } },
      width: 0.74,
      xaxis: "x",
      yaxis: "y2",
    });
  });
  const lanes = timeline.lanes.length;
  const split = lanes ? Math.min(0.5, 0.1 + 0.085 * lanes) : 0;
  const top = (1.16 * Math.max(timeline.peak, timeline.limit ?? 0)) / memorySize || 1;
  const shapes = [];
  if (timeline.limit !== null) {
    const height = timeline.limit / memorySize;
    shapes.push({
      type: "line", xref: "paper", yref: "y", x0: 0, x1: 1, y0: height, y1: height,
      line: { color: "@vermilion", width: 1.4, dash: "dash" },
      label: { text: `limit ${Number(height.toPrecision(4))} ${memoryName}`, textposition: "end", yanchor: "bottom", font: { color: "@vermilion", size: 11 } },
    });
  }
  return {
    data: traces,
    layout: {
      margin: { l: 64, r: 16, t: 12, b: 48 },
      barmode: "overlay",
      hovermode: "closest",
      hoverdistance: 40,
      legend: { orientation: "h", x: 0 },
      shapes,
      xaxis: { title: { text: clock === "ns" ? `time (${timeName})` : timeName, standoff: 6 }, range: [0, end], automargin: true, anchor: lanes ? "y2" : "y" },
      yaxis: { title: { text: `memory (${memoryName})`, standoff: 8 }, range: [0, top], domain: [split + (lanes ? 0.04 : 0), 1], automargin: true, fixedrange: true },
      ...(lanes ? { yaxis2: { domain: [0, split], categoryorder: "array", categoryarray: [...timeline.lanes].reverse(), automargin: true, fixedrange: true, showgrid: false, showline: false, ticks: "", ticklabelstandoff: 6 } } : {}),
    },
  };
}

function timelineKey(place) {
  return place.closest("details").querySelector("select.choose-timeline").value;
}

function drawTimeline(place) {
  const timeline = data.timelines[timelineKey(place)];
  const words = [`peak ${exactBytes(timeline.peak)}`];
  if (timeline.limit !== null) words.push(`limit ${exactBytes(timeline.limit)}`);
  if (timeline.clock === "ns") words.push(`time ${exactTime(timeline.end, "ns")}`);
  if (timeline.joined) words.push("short neighbours of one kind are joined");
  place.closest("details").querySelector(".timeline-facts").textContent = words.join("; ");
  return draw(place, timelineFigure(timeline));
}

for (const choice of document.querySelectorAll("select.choose-timeline")) {
  choice.addEventListener("change", () => drawTimeline(choice.closest("details").querySelector(".plot")));
}

for (const button of document.querySelectorAll("button.move")) {
  button.addEventListener("click", () => {
    const place = button.closest("details").querySelector(".plot");
    const figure = drawnPlots.get(place);
    const end = figure.layout.xaxis.range[1];
    const [left, right] = place.layout.xaxis.range.map(Number);
    const middle = (left + right) / 2;
    const width = right - left;
    const [from, to] = {
      "zoom-in": [middle - width / 4, middle + width / 4],
      "zoom-out": [middle - width, middle + width],
      left: [left - width / 2, right - width / 2],
      right: [left + width / 2, right + width / 2],
      all: [0, end],
    }[button.dataset.move];
    // The window stays within the schedule.
    const shown = Math.min(to - from, end);
    const start = Math.min(Math.max(from, 0), end - shown);
    Plotly.relayout(place, { "xaxis.range": [start, start + shown] });
  });
}
