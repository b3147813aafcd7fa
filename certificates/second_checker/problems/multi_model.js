// Models to train: what is given, and the bound of multi-model, a tree for each unit (records u).
"use strict";
const { sum, max, least, range } = require("../integers.js");
const { demand, integer, onlyFields, isAmount, amount, list, some, text, checkKind,
} = require("../reading.js");
const { Model, minus } = require("../model.js");
const { followTree } = require("../tree.js");

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

const run = (operators) => sum(operators.map((o) => o.run));
const plain = (columns) => columns.map((j) => [1n, j]);
const PAIR = ["recompute", "redo", "redo_swap", "swap", "late", "early", "keep"];
const KEPT_F = ["late", "keep"], MOVED_F = ["swap", "late", "early", "keep"];
const KEPT_B = ["redo", "early", "keep"], MOVED_B = PAIR.slice(1);
const size = (t) => t.size, copy = (t) => t.c, again = (t) => t.r;

// Sums of an amount of feature maps over their columns of some classes.
const terms = (x, tensors, classes, of) => tensors.flatMap((t) =>
  PAIR.filter((p) => classes.includes(p) && p in x.of[t.t]).map((p) => [of(t), x.of[t.t][p]]));
const present = (x, tensors, moved, kept) =>
  [...terms(x, tensors.filter(copy), moved, size),
    ...terms(x, tensors.filter((t) => !copy(t)), kept, size)];

// The parts of the stretches of both passes: feature maps at the milestone, then the others.
function partsOf(x) {
  const part = (stretch, order, tensors) =>
    ({ stretch, order, tensors, most: sum(tensors.map(size)) });
  const forward = x.P.flatMap((place, p) => {
    const end = x.P[p + 1] ?? x.u.length;
    return [part(p, p, x.live.filter((t) => t.l === place)),
      part(p, p + 1, x.live.filter((t) => place < t.l && t.l < end))];
  });
  const backward = x.J.flatMap((place, j) => {
    const before = x.J[j - 1] ?? -1;
    return [part(j, j, x.live.filter((t) => t.e === place)),
      part(j, j - 1, x.live.filter((t) => before < t.e && t.e < place))];
  });
  return [forward, backward].map((parts) => parts.filter((one) => one.tensors.length));
}

function addRound(unit, n, f, b) {
  const { model, time, sumOf, room, inMemory, isPair, total, H } = unit, { u } = f, { v } = b;
  const { P } = f, { J } = b, p_ = range(0, P.length), j_ = range(0, J.length);
  const T = time(`length_${n}`, 1n);
  const S = p_.map((p) => time(`S_${n}_${p}`)), U = j_.map((j) => time(`U_${n}_${j}`));
  const Xf = partsOf(f)[0], Xb = partsOf(b)[1];
  const [Kf, Qf, Of, Kb, Qb, Ib, Rb] = [[], [], [], [], [], [], []];
  Xf.forEach(({ tensors }, x) => {
    Kf.push(sumOf(`Kf_${n}_${x}`, present(f, tensors, KEPT_F, KEPT_F)));
    Qf.push(sumOf(`Qf_${n}_${x}`, present(f, tensors, MOVED_F, KEPT_F)));
    Of.push(sumOf(`Of_${n}_${x}`, terms(f, tensors, ["swap", "early"], copy)));
  });
  Xb.forEach(({ tensors }, y) => {
    Kb.push(sumOf(`Kb_${n}_${y}`, present(b, tensors, KEPT_B, KEPT_B)));
    Qb.push(sumOf(`Qb_${n}_${y}`, present(b, tensors, MOVED_B, KEPT_B)));
    Ib.push(sumOf(`Ib_${n}_${y}`, terms(b, tensors, ["redo_swap", "swap", "late"], copy)));
    Rb.push(sumOf(`Rb_${n}_${y}`, terms(b, tensors, ["recompute"], again)));
  });
  const over = (parts) => (columns, from, to = Infinity) =>
    plain(columns.filter((_, x) => from <= parts[x].stretch && parts[x].stretch < to));
  const inF = over(Xf), inB = over(Xb);
  const z = [], h = [], hm = [], g = [], gm = [];
  const beside = (name, order, parts, sums) => parts.map(({ order: place, most }, x) => {
    const found = model.column(`${name}_${x}`, { hi: most, isWhole: false });
    model.atLeast([[1n, found], [-1n, sums[x]], [-most, order[place]]], -most);
    return found;
  });
  if (isPair) {
    for (const p of p_) z.push(j_.map((j) => model.column(`before_${n}_${p}_${j}`)));
    const after = j_.map((j) => z.map((row) => row[j]));
    for (const p of p_) h.push(beside(`h_${n}_${p}`, z[p], Xb, Kb));
    for (const p of p_) hm.push(beside(`hm_${n}_${p}`, z[p], Xb, Qb));
    for (const j of j_) g.push(beside(`g_${n}_${j}`, after[j], Xf, Kf));
    for (const j of j_) gm.push(beside(`gm_${n}_${j}`, after[j], Xf, Qf));
  }
  // Work and transfers.
  const redone = terms(f, f.live, ["redo", "redo_swap"], again);
  const late = terms(b, b.live, ["late"], copy), early = terms(f, f.live, ["early"], copy);
  model.atLeast([[1n, T], ...minus([...redone, ...plain(Rb)])], run(u) + run(v));
  model.atLeast([[1n, T], ...minus([...plain(Of), ...late])], 0n);
  model.atLeast([[1n, T], ...minus([...plain(Ib), ...early])], 0n);
  for (const p of p_) {
    model.atLeast([[1n, T], [-1n, S[p]], ...minus(inF(Of, p))], u[P[p]].run);
  }
  for (const j of j_) model.atLeast([[1n, U[j]], ...minus(inB(Ib, 0, j + 1))], 0n);
  for (const [places, starts, works] of [[P, S, u], [J, U, v]]) {
    places.slice(1).forEach((place, i) => {
      const terms = [[1n, starts[i + 1]], [-1n, starts[i]]];
      model.atLeast(terms, run(works.slice(places[i], place)));
    });
  }
  // The order of the passes.
  const onward = (works, places) =>
    places.map((place, i) => works.slice(place, places[i + 1] ?? works.length));
  const until = (works, places) =>
    places.map((place, i) => works.slice((places[i - 1] ?? -1) + 1, place + 1));
  if (isPair) {
    const [toF, toB] = [until(u, P).map(run), until(v, J).map(run)];
    const [onF, onB] = [onward(u, P).map(run), onward(v, J).map(run)];
    for (const p of p_) {
      const terms = [[1n, S[p]], ...j_.map((j) => [toB[j], z[p][j]])];
      model.atLeast(terms, run(u.slice(0, P[p])) + sum(toB));
    }
    for (const j of j_) {
      const before = p_.map((p) => [toF[p], z[p][j]]);
      const terms = [[1n, U[j]], ...minus([...before, ...inB(Rb, 0, j + 1)])];
      model.atLeast(terms, run(v.slice(0, J[j])));
    }
    for (const p of p_) {
      const after = minus(j_.map((j) => [onB[j], z[p][j]]));
      model.atLeast([[1n, T], [-1n, S[p]], ...after], run(u.slice(P[p])));
    }
    for (const j of j_) {
      const after = p_.map((p) => [onF[p], z[p][j]]);
      model.atLeast([[1n, T], [-1n, U[j]], ...after], run(v.slice(J[j])) + sum(onF));
    }
    for (const p of p_) {
      for (const j of j_) {
        if (j + 1 < J.length) model.notBelow(z[p][j + 1], z[p][j]);
        if (p) model.notBelow(z[p - 1][j], z[p][j]);
      }
    }
  } else {
    for (const p of p_) model.atLeast([[1n, S[p]]], run(u.slice(0, P[p])));
    for (const j of j_) {
      const terms = [[1n, U[j]], ...minus(inB(Rb, 0, j + 1))];
      model.atLeast(terms, run(u) + run(v.slice(0, J[j])));
    }
    model.atLeast([[1n, U[0]], [-1n, S.at(-1)]], u.at(-1).run);
    model.atLeast([[1n, T], [-1n, U.at(-1)]], v.at(-1).run);
  }
  // Memory.
  const activeOf = (works, places) =>
    onward(works, places).map((part) => least(part.map((o) => o.active)));
  const [activeF, activeB] = [activeOf(u, P), activeOf(v, J)], carried = b.u.at(-1).active;
  const heldB = (p) => (isPair ? j_.map((j) => [(activeB[j - 1] ?? carried) - activeB[j], z[p][j]])
    : []);
  const heldF = (j) => (isPair ? p_.map((p) => [activeF[p] - (activeF[p - 1] ?? 0n), z[p][j]])
    : []);
  const lastB = isPair ? activeB.at(-1) : 0n;
  for (const p of p_) {
    const others = isPair ? [...plain(h[p]), ...heldB(p)] : [];
    const left = room(u[P[p]].peak + lastB);
    model.atMost([...inF(Kf, 0, p), ...others], left);
    for (const q of range(0, p)) {
      const there = [...inF(Kf, 0, q), ...inF(Qf, q, p), ...others];
      inMemory(there, [[1n, S[p]], [-1n, S[q]]], left, u[P[q]].run);
    }
  }
  for (const j of j_) {
    const others = isPair ? [...plain(g[j]), ...heldF(j)] : [], left = room(v[J[j]].peak);
    model.atMost([...inB(Kb, j + 1), ...others], left);
    for (const q of range(j + 1, J.length)) {
      const there = [...inB(Kb, q + 1), ...inB(Qb, j + 1, q + 1), ...others];
      inMemory(there, [[1n, U[q]], [-1n, U[j]]], left, v[J[j]].run);
    }
  }
  const shared = (t) => (t.size * NS_PER_S) / total;
  if (!isPair) {
    const bothWays = (t) => (total === undefined ? t.c : max(t.c, 2n * shared(t)));
    for (const p of p_) {
      for (const j of j_) {
        const window = [[1n, U[j]], [-1n, S[p]]];
        const [early, idle] = [f.live.filter((t) => t.l < P[p]), f.live.filter((t) => t.l >= P[p])];
        const swapped = idle.filter((t) => t.e <= J[j]);
        if (swapped.length) {
          const swaps = terms(f, swapped, ["swap"], bothWays);
          model.atLeast([...window, ...minus(swaps)], u[P[p]].run);
        }
        const later = (tensors) => tensors.filter((t) => t.e > J[j]);
        if (!later(idle).length) continue;
        const there = [...present(f, later(early), KEPT_F, KEPT_F),
          ...present(f, later(idle), MOVED_F, KEPT_F)];
        inMemory(there, window, room(v[J[j]].peak), u[P[p]].run);
      }
    }
    return;
  }
  for (const p of p_) {
    for (const j of j_) {
      const w = time(`between_${n}_${p}_${j}`), order = z[p][j];
      model.atMost([[1n, w], [-1n, U[j]], [1n, S[p]], [H, order]], H - u[P[p]].run);
      model.atMost([[1n, w], [-H, order]], 0n);
      const turnF = [...inF(Kf, 0, p), ...heldB(p), ...inB(hm[p], 0, j + 1), ...inB(h[p], j + 1)];
      inMemory(turnF, [[1n, w]], room(u[P[p]].peak + lastB), 0n);
      const turnB = [...inB(Kb, j + 1), ...heldF(j), ...inF(g[j], 0, p), ...inF(gm[j], p)];
      inMemory(turnB, [[1n, w]], room(v[J[j]].peak), 0n);
    }
  }
  if (total === undefined) return;
  const often = (x, tensors, times) => Object.entries(times).flatMap(([path, count]) =>
    terms(x, tensors, [path], (t) => count * shared(t)));
  const Wf = Xf.map(({ tensors }, x) =>
    sumOf(`Wf_${n}_${x}`, often(f, tensors, { swap: 1n, early: 2n })));
  const Wb = Xb.map(({ tensors }, y) =>
    sumOf(`Wb_${n}_${y}`, often(b, tensors, { redo_swap: 1n, swap: 1n, late: 2n })));
  model.atLeast([[1n, T], ...minus(plain([...Wf, ...Wb]))], 0n);
  for (const p of p_) {
    model.atLeast([[1n, T], [-1n, S[p]], ...minus(inF(Wf, p))], u[P[p]].run);
  }
  for (const j of j_) model.atLeast([[1n, U[j]], ...minus(inB(Wb, 0, j + 1))], 0n);
}

// The integer program of a unit. An array has P and J, its milestones.
function unitModel({ M, total }, arrays, p, q) {
  const model = new Model(0n), isPair = arrays.length === 2;
  const fixed = sum(arrays.map((x) => x.fixed));
  const compute = sum(arrays.map((x) => run(x.u) + run(x.v)));
  const H = compute + 2n * sum(arrays.flatMap((x) => x.tensors.map(copy)));
  const classes = isPair ? PAIR : ["recompute", "swap", "keep"];
  const found = arrays.map((x, a) => {
    const live = x.tensors.filter(size), of = [];
    for (const { t } of live) {
      of[t] = Object.fromEntries(classes.map((path) => [path, model.column(`${path}_${a}_${t}`)]));
    }
    return { ...x, live, of };
  });
  const room = (used) => M - fixed - used;
  found.forEach((x) => {
    for (const { t } of x.live) model.equal(plain(Object.values(x.of[t])), 1n);
    const there = terms(x, x.live, ["redo", "late", "early", "keep"], size);
    model.atMost(there, room(x.u.at(-1).active));
  });
  const unit = { model, isPair, total, H, room,
    time: (name, cost = 0n) => model.column(name, { hi: H, cost, isWhole: false }),
    sumOf: (name, added) => {
      const hi = sum(added.map(([value]) => value));
      const column = model.column(name, { hi, isWhole: false });
      model.equal([...added, [-1n, column]], 0n);
      return column;
    },
    inMemory: (bytes, times, left, lessNs) => model.atMost(
      [...bytes.map(([value, j]) => [q * value, j]), ...times.map(([value, j]) => [-p * value, j])],
      q * left - p * lessNs),
  };
  if (isPair) {
    addRound(unit, 0, found[1], found[0]);
    addRound(unit, 1, found[0], found[1]);
  } else addRound(unit, 0, found[0], found[0]);
  return model;
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
