// Formulations of weight-offload, about the cycle of operations B_L to B_1, F_1 to F_L.
"use strict";
const { sum, max, range, ceil, floor, gcd } = require("../integers.js");
const { demand, flag, list } = require("../reading.js");
const { Model, total } = require("../model.js");
const { readChain } = require("../chain.js");

// Operations k are B_L to B_1, F_1 to F_L; e is what they need besides weights, d their durations.
function cycle({ N: L, a, d, s, f, b, g, os, ob, w, t0 }, resources) {
  const { memory_bytes: M, bytes_per_s: rate, total_bytes_per_s: both = 0n } = resources;
  demand(!both || (both >= rate && both < 2n * rate), "both directions share another total");
  const layers = range(1, L + 1), operations = range(0, 2 * L), W = sum(w), S = [a[0]];
  for (const i of layers) S.push(S[i - 1] + s[i]);
  const layer = (k) => (k < L ? L - k : k - L + 1);
  const e = operations.map((k) => {
    const i = layer(k), gradient = i > 1 ? d[i - 1] : 0n;
    return k < L ? S[i] + d[i] + max(g[i] + ob[i], gradient) + w[i] : S[i] + os[i];
  });
  const common = gcd(rate, 10n ** 9n), p = rate / common, q = 10n ** 9n / common;
  const shared = gcd(both, 10n ** 9n), p2 = both / shared, q2 = 10n ** 9n / shared;
  return { L, layers, operations, layer, w, M, p, q, p2, q2, e, t0,
    E: e.map((bytes) => W + bytes - M), B: (i) => L - i, F: (i) => L + i - 1,
    next: (k) => (k + 1) % (2 * L), d: operations.map((k) => (k < L ? b : f)[layer(k)]),
    Z: ceil(2n * W * q, p) };
}

function cover(chain, resources) {
  demand(resources.total_bytes_per_s === undefined, "the cover knows no total");
  const { L, layers, B, F, w, p, q, E } = cycle(chain, resources);
  const model = new Model(0n, p);
  for (const [name, end] of [["last", L], ["first", 1]]) {
    const rest = layers.filter((i) => i !== end);
    const others = model.columns(name, rest, (i) => ({ cost: q * w[i] }));
    model.atLeast(rest.map((i) => [w[i], others[i]]), max(E[B(end)], E[F(end)]));
  }
  return [model, "all schedules"];
}

function aggregated(chain, resources, options) {
  const { L, layers, operations, layer, B: backward, next, w, p, q, p2, q2, d, E, t0, Z } = cycle(
    chain, resources);
  const whole = flag(options, "whole"), sizes = layers.map((i) => w[i]).filter((size) => size > 0n);
  const often = (size) => sizes.filter((other) => other === size).length;
  const better = (x, y) => often(x) > often(y) || (often(x) === often(y) && x > y);
  const B = sizes.length ? sizes.reduce((x, y) => (better(y, x) ? y : x)) : 1n;
  const nB = BigInt(often(B));
  const parts = [w];
  if (whole) {
    parts[0] = w.map((size) => (size === B ? size : 0n));
    const rest = w.map((size) => (size === B ? 0n : size));
    if (sum(rest)) parts.push(rest);
  }
  const model = new Model(t0), real = { isWhole: false };
  const perLayer = (name, more = {}) =>
    model.columns(name, layers, (i) => ({ hi: w[i] ? 1n : 0n, ...more }));
  const [y0, y1, c] = [perLayer("y0"), perLayer("y1"), perLayer("c", real)];
  const idle = model.columns("idle", operations, () => ({ ...real, hi: Z, cost: 1n }));
  const [H, Q] = (whole ? ["H", "Q"] : []).map((name) =>
    model.columns(name, operations, () => ({ hi: nB })));
  const classes = parts.map((z, G) => {
    const columns = (name, keys) =>
      model.columns(`${name}_${G}`, keys, () => ({ ...real, hi: sum(z) }));
    const found = { z, A: columns("A", layers), W: columns("W", range(1, L + 2)) };
    for (const name of "PUVhgrq") found[name] = columns(name, operations);
    return found;
  });
  const steps = (X, v) => {
    model.equal([[1n, X[1]], ...layers.slice(1).map((i) => [-v[i], y0[i]])], 0n);
    for (const i of layers.slice(1)) {
      const changes = [[v[i], y0[i]], [-v[i - 1], y1[i - 1]]];
      model.equal([[1n, X[i]], [-1n, X[i - 1]], ...changes], 0n);
    }
  };
  for (const { z, A } of classes) steps(A, z); // 1
  for (const { z, W } of classes) { // 2
    for (const i of layers) model.equal([[1n, W[i]], [-1n, W[i + 1]], [-z[i], c[i]]], 0n);
    model.equal([[1n, W[L + 1]]], 0n);
  }
  for (const i of layers) model.atLeast([[1n, c[i]], [-1n, y1[i]], [1n, y0[i]]], 0n); // 3
  for (const names of [["U", "V"], ["P"]]) { // 4
    for (const k of operations) {
      const moved = classes.flatMap((one) => names.map((name) => [q, one[name][k]]));
      model.atMost([...moved, [-p, idle[k]]], p * d[k]);
    }
  }
  for (const k of p2 ? operations : []) {
    const moved = classes.flatMap(({ U, V, P }) => [U, V, P].map((X) => [q2, X[k]]));
    model.atMost([...moved, [-p2, idle[k]]], p2 * d[k]);
  }
  for (const { z, W, P, U, V, h, g, r, q: free } of classes) { // 5
    const passed = (k) => (k < L ? z[layer(k)] : 0n);
    const change = (X, terms) => {
      for (const k of operations) model.equal([[1n, X[next(k)]], [-1n, X[k]], ...terms(k)], 0n);
    };
    const started = (k) => [z[layer(k)], (k < L ? y1 : y0)[layer(k)]];
    change(h, (k) => [[-1n, P[k]], started(next(k))]);
    change(g, (k) => [[-passed(k), y0[layer(k)]], [1n, U[k]]]);
    change(r, (k) => [[-passed(k), c[layer(k)]], [1n, V[k]]]);
    for (const k of operations) {
      const x = layer(k) + (k < L ? 1 : 0);
      model.atLeast([[1n, free[k]], [-1n, r[k]], [1n, W[x]]], 0n);
    }
  }
  for (const { z, g, r } of classes) { // 6
    for (const i of layers.filter((i) => z[i] > 0n)) {
      const k = backward(i), n = next(k), size = [[-q * z[i], y0[i]], [-q * z[i], c[i]]];
      model.atLeast([[q, g[n]], [q, r[n]], [p, idle[k]], ...size], 0n);
    }
  }
  if (whole) { // 7
    const { h, g, q: free } = classes[0];
    for (const k of operations) model.atLeast([[B, H[k]], [-1n, h[k]]], 0n);
    for (const k of operations) model.atLeast([[B, Q[k]], [-1n, g[k]], [-1n, free[k]]], 0n);
  }
  const absent = ({ A, h, g, q: free }, G, k) => { // 8
    const lessened = whole && G === 0 ? [[-B, H[k]], [-B, Q[k]]]
      : [h, g, free].map((X) => [-1n, X[k]]);
    return [[1n, A[layer(k)]], ...lessened];
  };
  classes.forEach((one, G) => {
    for (const k of operations) model.atLeast(absent(one, G, k), 0n);
  });
  const tight = operations.filter((k) => E[k] > 0n);
  for (const k of tight) model.atLeast(classes.flatMap((one, G) => absent(one, G, k)), E[k]); // 9
  const counted = (name, worths, hi) => { // 10
    const columns = model.columns(name, layers, () => ({ hi }));
    steps(columns, worths);
    return columns;
  };
  const N = counted("N", w.map((size) => (size === B && size ? 1n : 0n)), nB);
  const others = layers.filter((i) => w[i] > 0n && w[i] !== B);
  const worths = w.map((size) => (size && size !== B ? ceil(size, B) : 0n));
  const R = others.length > 1 ? counted("R", worths, sum(worths)) : null;
  for (const k of tight) {
    const i = layer(k), v = ceil(E[k], B), terms = [[1n, N[i]]];
    if (whole) terms.push([-1n, H[k]], [-1n, Q[k]]);
    if (R) terms.push([1n, R[i]]);
    const [j] = others;
    if (others.length === 1 && j !== i) {
      terms.push([v + floor(w[j] - E[k], B), (i < j ? y0 : y1)[j]]);
    }
    model.atLeast(terms, v);
  }
  if (others.length) { // 11
    const S = counted("S", w.map((size) => (size ? 1n : 0n)), BigInt(sizes.length));
    const order = [...layers].sort((i, j) => (w[i] === w[j] ? i - j : w[i] > w[j] ? -1 : 1));
    const first = (x) => {
      let count = 0;
      for (let total = 0n; total < x && count <= L; count++) total += w[order[count]] ?? 0n;
      return count;
    };
    for (const k of tight) {
      const i = layer(k), n = first(E[k]);
      const least = order.slice(0, n).includes(i) ? first(E[k] + w[i]) - 1 : n;
      model.atLeast([[1n, S[i]]], BigInt(least));
    }
  }
  return [model, "all schedules"];
}

function milp(chain, resources, options) {
  const cuts = list(options, "cuts");
  demand(cuts.every((cut) => ["3a", "3b", "7'", "6c"].includes(cut)), "there is no such cut");
  const { layers, operations, B, F, next, w, M, p, q, p2, q2, d, e, t0, Z } = cycle(
    chain, resources);
  const moved = layers.filter((i) => w[i] > 0n), model = new Model(t0);
  const isHere = (i, k) => k === B(i) || k === F(i); // the weight is in use
  const real = (name, bounds = () => ({})) => {
    const found = [];
    for (const i of moved) {
      found[i] = model.columns(`${name}_${i}`, operations, (k) =>
        ({ isWhole: false, hi: w[i], ...bounds(i, k) }));
    }
    return found;
  };
  const [O, P, D] = ["O", "P", "D"].map((name) => real(name));
  const m = real("m", (i, k) => (isHere(i, k) ? { lo: w[i] } : {}));
  const o = real("o", (i, k) => (k === B(i) ? { hi: 0n } : {}));
  const dropped = cuts.includes("6c") ? real("d", (i, k) => (isHere(i, k) ? { hi: 0n } : {})) : [];
  const [upload, gone1, gone0] = ["upload", "gone1", "gone0"].map((name) =>
    model.columns(name, moved));
  const idle = model.columns("idle", operations, () => ({ isWhole: false, hi: Z, cost: 1n }));
  for (const X of [O, P]) {
    for (const k of operations) {
      model.atMost([...moved.map((i) => [q, X[i][k]]), [-p, idle[k]]], p * d[k]);
    }
  }
  for (const k of p2 ? operations : []) {
    const both = [O, P].flatMap((X) => moved.map((i) => [q2, X[i][k]]));
    model.atMost([...both, [-p2, idle[k]]], p2 * d[k]);
  }
  const waits = (i, k, ...moves) =>
    model.atLeast([[p, idle[k]], ...moves.map((X) => [-q, X[i][k]])], 0n);
  for (const i of moved) waits(i, B(i), O);
  const forAll = (allowed, row) => {
    for (const i of moved) for (const k of operations) if (allowed(i, k)) row(i, k);
  };
  const change = (X, i, k) => [[1n, X[i][next(k)]], [-1n, X[i][k]]];
  forAll(() => true, (i, k) =>
    model.equal([...change(m, i, k), [-1n, P[i][k]], [1n, D[i][k]]], 0n));
  forAll((i, k) => next(k) !== B(i), (i, k) =>
    model.equal([...change(o, i, k), [-1n, O[i][k]]], 0n));
  for (const k of operations) model.atMost(total(moved.map((i) => m[i][k])), M - e[k]);
  forAll((i, k) => k !== B(i), (i, k) => model.atLeast(total([m[i][k], o[i][k]]), w[i]));
  for (const i of moved) {
    const k = operations.find((k) => next(k) === B(i));
    model.equal([...total([o[i][k], O[i][k]]), [-w[i], upload[i]]], 0n);
  }
  const around = (from, to) => (from === to ? [] : [from, ...around(next(from), to)]);
  for (const [gone, from, to] of [[gone1, F, B], [gone0, B, F]]) {
    for (const i of moved) {
      const between = total(around(from(i), to(i)).map((k) => D[i][k]));
      model.equal([...between, [-w[i], gone[i]]], 0n);
    }
  }
  for (const i of moved) {
    if (cuts.includes("3a")) waits(i, B(i), O, P);
    if (cuts.includes("3b")) waits(i, F(i), P);
    if (cuts.includes("7'")) model.atLeast([[1n, o[i][F(i)]], [-w[i], gone0[i]]], 0n);
  }
  if (cuts.includes("6c")) {
    forAll((i, k) => !isHere(i, next(k)), (i, k) =>
      model.equal([...change(dropped, i, k), [-1n, D[i][k]]], 0n));
    forAll((i, k) => !isHere(i, k), (i, k) => model.notBelow(o[i][k], dropped[i][k]));
  }
  return [model, "all schedules"];
}

module.exports = {
  resources: { memory_bytes: 0n, bytes_per_s: 1n },
  optional: { total_bytes_per_s: 1n },
  read: readChain,
  formulations: {
    cover: { options: [], build: cover },
    aggregated: { options: ["whole"], build: aggregated },
    milp: { options: ["cuts"], build: milp },
  },
};
