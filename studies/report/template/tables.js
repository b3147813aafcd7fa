// Tables: those in the page are sorted in place, that of all jobs is made from columns.
function ordered(first, second) {
  if (typeof first === "number" && typeof second === "number") return first - second;
  return String(first).localeCompare(String(second), "en", { numeric: true });
}

function markSorted(heads, head, descending) {
  heads.forEach((other) => other.setAttribute("aria-sort", "none"));
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const descending = head.getAttribute("aria-sort") === "ascending";
      const sign = descending ? -1 : 1;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => sign * (Number(a.cells[column].dataset.value) - Number(b.cells[column].dataset.value)));
      table.tBodies[0].append(...rows);
      markSorted(heads, head, descending);
    });
  });
}

const PAGE_ROWS = 50;
function column(name) {
  const values = data.jobs[name];
  return Array.isArray(values) ? values : values.at.map((place) => values.words[place]);
}
const jobs = Object.fromEntries(Object.keys(data.jobs).map((name) => [name, column(name)]));
const jobCount = jobs.key.length;

function percentText(share) {
  const value = 100 * share;
  if (value === 0) return "0 %";
  if (Math.abs(value) < 0.01) return `${value.toExponential(0)} %`;
  return `${value.toFixed(Math.abs(value) < 10 ? 2 : 1)} %`;
}
function anchor(text, target) {
  const link = document.createElement("a");
  link.href = `#${target}`;
  link.textContent = text;
  return link;
}
// A name in the folder of the results is shown; a link only leads somewhere where the page lies there.
function certificate(row) {
  const target = jobs.certificate[row];
  if (target === null) return "–";
  const text = jobs.certified_ns[row] === null ? "nothing fits" : humanTime(jobs.certified_ns[row]);
  if (!data.beside) return text;
  const link = document.createElement("a");
  link.href = target;
  link.textContent = text;
  return link;
}
const orDash = (value, write) => (value === null ? "–" : write(value));

// Name of the column to sort by, its title, whether it is a number, and what a cell holds.
const JOB_COLUMNS = [
  ["problem", "problem", false, (row) => anchor(jobs.problem[row], jobs.panel[row])],
  ["instance", "instance", false, (row) => anchor(jobs.instance[row], `instance-${jobs.instance_sha256[row]}`)],
  ["memory_bytes", "memory", true, (row) => `${jobs.memory_text[row]} ${humanBytes(jobs.memory_bytes[row])}`.trim()],
  ["bandwidth_bytes_per_s", "link", true, (row) => orDash(jobs.bandwidth_bytes_per_s[row], (rate) => `${Number((rate / 1e9).toPrecision(4))} GB/s`)],
  ["method", "method", false, (row) => jobs.method[row]],
  ["seed", "seed", true, (row) => String(jobs.seed[row])],
  ["status", "status", false, (row) => jobs.status[row] ?? "–"],
  ["time_ns", "time", true, (row) => orDash(jobs.time_ns[row], humanTime)],
  ["peak_bytes", "peak", true, (row) => orDash(jobs.peak_bytes[row], humanBytes)],
  ["best_bound_ns", "best bound", true, (row) => orDash(jobs.best_bound_ns[row], humanTime)],
  ["bound_class", "bound for", false, (row) => jobs.bound_class[row]],
  ["gap_to_best", "gap", true, (row) => orDash(jobs.gap_to_best[row], percentText)],
  ["certified_ns", "certified", true, (row) => certificate(row)],
  ["certified_for", "certified for", false, (row) => jobs.certified_for[row] ?? "–"],
  ["seconds", "seconds", true, (row) => orDash(jobs.seconds[row], (value) => Number(value.toPrecision(3)).toString())],
  ["note", "note", false, (row) => jobs.note[row] ?? ""],
  ["key", "job", false, (row) => jobs.key[row].slice(0, 12)],
];
const EXACT = { time_ns: "ns", peak_bytes: "bytes", best_bound_ns: "ns", certified_ns: "ns", memory_bytes: "bytes", bandwidth_bytes_per_s: "bytes per second" };
const searched = Array.from({ length: jobCount }, (_, row) =>
  ["problem", "instance", "instance_sha256", "memory_text", "method", "status", "note", "key"].map((name) => jobs[name][row] ?? "").join(" ").toLowerCase()
);
let jobOrder = Array.from({ length: jobCount }, (_, row) => row);
let jobPage = 0;

function shownJobs() {
  const wanted = document.getElementById("job-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  return jobOrder.filter((row) => wanted.every((word) => searched[row].includes(word)));
}

function fillJobs() {
  const rows = shownJobs();
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  jobPage = Math.min(Math.max(jobPage, 0), pages - 1);
  const body = document.querySelector("#job-table tbody");
  body.replaceChildren(
    ...rows.slice(jobPage * PAGE_ROWS, (jobPage + 1) * PAGE_ROWS).map((row) => {
      const line = document.createElement("tr");
      for (const [name, , isNumber, content] of JOB_COLUMNS) {
        const cell = document.createElement("td");
        cell.append(content(row));
        if (isNumber) cell.className = "number";
        const value = jobs[name][row];
        if (name in EXACT && value !== null) cell.title = `${grouped(value)} ${EXACT[name]}`;
        else if (name === "key") cell.title = `${value}, with ${jobs.versions[row]}`;
        else if (name === "instance") cell.title = `${value}, SHA-256 ${jobs.instance_sha256[row]}`;
        else if (name === "certified_for") cell.title = jobs.certificate[row] ?? "";
        else if (name === "note") cell.title = value ?? "";
        line.append(cell);
      }
      return line;
    })
  );
  document.getElementById("job-count").textContent =
    rows.length === jobCount ? `${jobCount} jobs, page ${jobPage + 1} of ${pages}` : `${rows.length} of ${jobCount} jobs, page ${jobPage + 1} of ${pages}`;
  document.getElementById("job-previous").disabled = jobPage === 0;
  document.getElementById("job-next").disabled = jobPage === pages - 1;
}

const jobHead = document.createElement("tr");
JOB_COLUMNS.forEach(([name, title, isNumber]) => {
  const head = document.createElement("th");
  head.scope = "col";
  head.setAttribute("aria-sort", "none");
  if (isNumber) head.className = "number";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sort";
  button.textContent = title;
  button.addEventListener("click", () => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    const values = jobs[name];
    const sign = descending ? -1 : 1;
    // What is missing comes last either way.
    jobOrder.sort((a, b) => (values[a] === null) - (values[b] === null) || (values[a] === null ? 0 : sign * ordered(values[a], values[b])));
    markSorted([...jobHead.cells], head, descending);
    jobPage = 0;
    fillJobs();
  });
  head.append(button);
  jobHead.append(head);
});
document.querySelector("#job-table thead").append(jobHead);
document.getElementById("job-filter").addEventListener("input", () => {
  jobPage = 0;
  fillJobs();
});
document.getElementById("job-previous").addEventListener("click", () => {
  jobPage -= 1;
  fillJobs();
});
document.getElementById("job-next").addEventListener("click", () => {
  jobPage += 1;
  fillJobs();
});
fillJobs();

// Instances that the page carries.
for (const button of document.querySelectorAll("button.download")) {
  button.addEventListener("click", () => {
    const name = button.dataset.file;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([data.files[name]], { type: "application/json" }));
    link.download = `${name}.json`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
}
if (window.innerWidth <= 900) document.getElementById("contents").open = false;
