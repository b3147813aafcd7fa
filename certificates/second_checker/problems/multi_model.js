// Models to train: what is given, and the bound of multi-model, a tree for each unit (records u).
"use strict";
const { sum, max, range } = require("../integers.js");
const { demand, integer, onlyFields, isAmount, amount, list, some, text, checkKind,
} = require("../reading.js");
const { followTree } = require("../tree.js");
const { run } = require("./multi_model_terms.js");
const { unitModel } = require("./multi_model_unit.js");

const NS_PER_S = 1_000_000_000n, MOST_STATES = 1_000_000n;
const FIELDS = ["models", "sizes", "static_bytes", "forward", "backward", "feature_maps"];
const up = (a, b) => (a + b - 1n) / b;

function column(object, key, length, from = 0n) {
  const values = list(object, key);
  demand(values.every((v) => isAmount(v, from)), `${key} has no amounts`);
  demand(length === null || values.length === length, `${key} has another length than sizes`);
  return values;
}

// The operators of a pass; `places` gets their names.
function readPass(object, word, places, length) {
  return some(object, word).map((item, place) => {
    onlyFields(item, ["name", "run_ns", "peak_bytes", "active_bytes"], "an operator");
    const name = text(item, "name");
    demand(!places.has(name), "two operators have one name");
    places.set(name, [word, place]);
    return ["run_ns", "peak_bytes", "active_bytes"].map((key) => column(item, key, length));
  });
}

// An architecture: its count and, by size, its sub-arrays. l, e, c, r of a feature map are the last
// forward and the first backward operator that use it, the time of a copy and of a recomputation.
function readArchitecture(object, { rate, isMeasured }) {
  const sizes = column(object, "sizes", null, 1n), length = sizes.length;
  demand(length > 0 && sizes.every((k, i) => !i || sizes[i - 1] < k), "the sizes do not ascend");
  const fixed = column(object, "static_bytes", length), places = new Map();
  const [forward, backward] = ["forward", "backward"].map((w) =>
    readPass(object, w, places, length));
  const names = new Set();
  const maps = list(object, "feature_maps").map((item) => {
    onlyFields(item, ["name", "size_bytes", "made_by", "last_forward", "first_backward",
      "last_backward", "recompute_ns", "recompute_bytes", "sources", "swap_ns"], "a feature map");
    const name = text(item, "name");
    demand(!names.has(name) && names.add(name), "two feature maps have one name");
    demand(list(item, "sources").every((s) => typeof s === "string"), "a source is no name");
    const at = (key, word) => {
      const [pass, place] = places.get(text(item, key)) ?? [];
      demand(pass === word, `${key} is no ${word} operator`);
      return place;
    };
    const [made, l] = ["made_by", "last_forward"].map((key) => at(key, "forward"));
    const [e, last] = ["first_backward", "last_backward"].map((key) => at(key, "backward"));
    demand(made <= l && e <= last, "a feature map is used before it is there");
    column(item, "recompute_bytes", length);
    const size = column(item, "size_bytes", length), again = column(item, "recompute_ns", length);
    const measured = list(item, "swap_ns").length ? column(item, "swap_ns", length) : null;
    const copies = size.map((bytes) => up(bytes * NS_PER_S, rate));
    return { l, e, size, again, copies: isMeasured && measured ? measured : copies };
  });
  const arrays = sizes.map((_, k) => {
    const pass = (operators) => operators.map((columns) => {
      const [run, peak, active] = columns.map((values) => values[k]);
      return { run, peak, active };
    });
    const tensors = maps.map(({ l, e, size, again, copies }, t) =>
      ({ t, l, e, size: size[k], r: again[k], c: copies[k] }));
    return { fixed: fixed[k], u: pass(forward), v: pass(backward), tensors };
  });
  const found = new Map(sizes.map((k, place) => [String(k), arrays[place]]));
  return { models: amount(object, "models", { least: 1n }), found };
}

// The sub-arrays by "architecture:size", how many models there are of each architecture.
function readModels(instance, resources) {
  const own = amount(instance, "bandwidth", { least: 1n }), given = resources.bytes_per_s;
  const link = { rate: given ?? own, isMeasured: given === undefined };
  const total = resources.total_bytes_per_s;
  if (total !== undefined) {
    demand(given !== undefined && given <= total && total < 2n * given, "no such shared link");
  }
  const others = list(instance, "others");
  for (const other of others) onlyFields(other, ["name", ...FIELDS], "an architecture");
  others.forEach((other) => text(other, "name"));
  const read = [instance, ...others].map((object) => readArchitecture(object, link));
  let counts = read.map(({ models }) => models);
  const { models } = resources;
  if (counts.length === 1 && models <= counts[0]) counts = [models];
  demand(models === sum(counts), "the instance has another number of models");
  const arrays = new Map(), order = [];
  read.forEach(({ found }, a) => {
    for (const [k, array] of found) {
      arrays.set(`${a}:${k}`, array);
      order.push({ key: `${a}:${k}`, a, k: BigInt(k) });
    }
  });
  const states = counts.reduce((product, n) => product * (n + 1n), 1n);
  demand(states * BigInt(order.length) ** 2n <= MOST_STATES, "too many models");
  return { arrays, order, counts, M: resources.memory_bytes, total };
}

function milestones(word, operators) {
  const places = word.split(",").map((item) => Number(integer(item)));
  const ascend = places.every((place, i) => !i || places[i - 1] < place);
  demand(ascend && places[0] === 0 && places.at(-1) === operators.length - 1, "no milestones");
  return places;
}

// Follows the trees of all units, and finds the least sum of a division of the models.
function follow(instance, resources, claim, lines) {
  demand(claim.k === 0n, "each unit has scale bits of its own");
  demand(claim.validFor === "all schedules", "the formulation holds for all schedules");
  const [p, q] = ["link_bytes", "link_ns"].map((key) => amount(claim.options, key, { least: 1n }));
  const problem = readModels(instance, resources), { arrays, order, counts, M } = problem;
  const known = new Map();
  order.forEach((one, i) => {
    for (const unit of [[one], ...order.slice(i).map((other) => [one, other])]) {
      const found = unit.map(({ key }) => arrays.get(key));
      const peaks = found.flatMap((x) => [...x.u, ...x.v]).map((o) => o.peak);
      if (sum(found.map((x) => x.fixed)) + max(...peaks) > M) continue;
      const time = sum(found.map((x) => run(x.u) + run(x.v)));
      const takes = counts.map((_, a) => sum(unit.filter((s) => s.a === a).map((s) => s.k)));
      known.set(unit.map(({ key }) => key).join(" "), { takes, time });
    }
  });
  const named = new Set(), place = new Map(order.map(({ key }, i) => [key, i]));
  let waiting = lines.next(), leaves = 0;
  const tree = function* () {
    for (waiting = lines.next(); !waiting.done; waiting = lines.next()) {
      if (waiting.value.split(" ")[0] === "u") return;
      yield waiting.value;
    }
  };
  while (!waiting.done) {
    const [letter, value, bits, ...rest] = waiting.value.split(" ");
    demand(letter === "u" && (rest.length === 3 || rest.length === 6), "no record of a unit");
    const time = integer(value), k = integer(bits), keys = [], unit = [];
    demand(time >= 0n && k >= 0n && k <= 256n, "no time, or too many scale bits");
    for (let at = 0; at < rest.length; at += 3) {
      const [key, forward, backward] = rest.slice(at, at + 3), x = arrays.get(key);
      demand(x !== undefined, `there is no sub-array ${key}`);
      const isSlow = x.tensors.every((t) => !t.c || t.size * q <= p * t.c);
      demand(isSlow, "a copy moves more than link_bytes in link_ns");
      unit.push({ ...x, P: milestones(forward, x.u), J: milestones(backward, x.v) });
      keys.push(key);
    }
    demand(keys.length < 2 || place.get(keys[0]) <= place.get(keys[1]), "no ascending unit");
    const name = keys.join(" "), model = unitModel(problem, unit, p, q);
    demand(!named.has(name) && named.add(name), "a unit stands twice");
    leaves += parseInt(followTree(model, k, model.toExceed(time), tree()), 10);
    const before = known.get(name);
    if (before) before.time = max(before.time, time);
  }
  const best = new Map([[counts.map(() => 0n).join(), 0n]]);
  const states = counts.reduce((found, n) =>
    found.flatMap((state) => range(0, Number(n) + 1).map((c) => [...state, BigInt(c)])), [[]]);
  for (const state of states.slice(1)) {
    for (const { takes, time } of known.values()) {
      const rest = best.get(state.map((c, a) => c - takes[a]).join()), key = state.join();
      if (rest === undefined) continue;
      if (!best.has(key) || rest + time < best.get(key)) best.set(key, rest + time);
    }
  }
  const proved = best.get(counts.join());
  const holds = proved === undefined || (claim.time !== null && proved >= claim.time);
  demand(holds, `a division into units may take ${proved} ns`);
  return `${leaves} leaves of ${named.size} units`;
}

function read(instance) {
  checkKind(instance, "multi-model", [...FIELDS, "bandwidth", "others"]);
  return instance;
}

module.exports = {
  resources: { memory_bytes: 0n, models: 1n },
  optional: { bytes_per_s: 1n, total_bytes_per_s: 1n },
  read,
  formulations: { "training-units": { options: ["link_bytes", "link_ns"], follow } },
};
