// Formulations of weight-offload, about the cycle of operations B_L to B_1, F_1 to F_L.
"use strict";
const { sum, max, range, ceil, floor, gcd } = require("./integers.js");
const { demand, onlyFields, amount, flag, list } = require("./reading.js");
const { readChain } = require("./instances.js");
const { Model } = require("./tree.js");

function readCycle(instance, resources) {
  const { N: L, a, s, f, b, g, of, ob, w, t0 } = readChain(instance);
  const M = amount(resources, "memory_bytes"), W = sum(w), S = [a[0]];
  const rate = amount(resources, "bytes_per_s", { least: 1n }), d = gcd(rate, 10n ** 9n);
  const [p, q] = [rate / d, 10n ** 9n / d];
  for (const i of range(1, L + 1)) S.push(S[i - 1] + s[i]);
  const layer = (k) => (k < L ? L - k : k - L + 1), operations = range(0, 2 * L);
  const e = operations.map((k) => {
    const i = layer(k), gradient = i > 1 ? a[i - 1] : 0n;
    return k < L ? S[i] + a[i] + max(g[i] + ob[i], gradient) + w[i] : S[i] + of[i];
  });
  return { L, layers: range(1, L + 1), operations, layer, w, M, W, p, q, e, t0,
    B: (i) => L - i, F: (i) => L + i - 1, next: (k) => (k + 1) % (2 * L),
    d: operations.map((k) => (k < L ? b : f)[layer(k)]),
    E: e.map((bytes) => W + bytes - M), Z: ceil(2n * W * q, p) };
}

function cover(instance, resources, options) {
  onlyFields(options, [], "the formulation");
  const { L, layers, B, F, w, p, q, E } = readCycle(instance, resources);
  const model = new Model(0n, p);
  for (const [name, end] of [["last", L], ["first", 1]]) {
    const rest = layers.filter((i) => i !== end);
    const others = model.columns(name, rest, (i) => ({ cost: q * w[i] }));
    model.atLeast([...others].map(([i, column]) => [w[i], column]), max(E[B(end)], E[F(end)]));
  }
  return [model, "all schedules"];
}

function aggregated(instance, resources, options) {
  onlyFields(options, ["whole"], "the formulation");
  const { L, layers, operations, layer, B: backward, next, w, p, q, d, E, t0, Z } = readCycle(
    instance, resources);
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
    model.equal([[1n, X.get(1)], ...layers.slice(1).map((i) => [-v[i], y0.get(i)])], 0n);
    for (const i of layers.slice(1)) {
      const changes = [[v[i], y0.get(i)], [-v[i - 1], y1.get(i - 1)]];
      model.equal([[1n, X.get(i)], [-1n, X.get(i - 1)], ...changes], 0n);
    }
  };
  for (const { z, A } of classes) steps(A, z); // 1
  for (const { z, W } of classes) { // 2
    for (const i of layers) {
      model.equal([[1n, W.get(i)], [-1n, W.get(i + 1)], [-z[i], c.get(i)]], 0n);
    }
    model.equal([[1n, W.get(L + 1)]], 0n);
  }
  for (const i of layers) { // 3
    model.atLeast([[1n, c.get(i)], [-1n, y1.get(i)], [1n, y0.get(i)]], 0n);
  }
  for (const names of [["U", "V"], ["P"]]) { // 4
    for (const k of operations) {
      const moved = classes.flatMap((one) => names.map((name) => [q, one[name].get(k)]));
      model.atMost([...moved, [-p, idle.get(k)]], p * d[k]);
    }
  }
  for (const { z, W, P, U, V, h, g, r, q: free } of classes) { // 5
    const passed = (k) => (k < L ? z[layer(k)] : 0n);
    const change = (X, k) => [[1n, X.get(next(k))], [-1n, X.get(k)]];
    for (const k of operations) {
      const j = layer(next(k)), Y = next(k) < L ? y1 : y0;
      model.equal([...change(h, k), [-1n, P.get(k)], [z[j], Y.get(j)]], 0n);
    }
    for (const k of operations) {
      model.equal([...change(g, k), [-passed(k), y0.get(layer(k))], [1n, U.get(k)]], 0n);
    }
    for (const k of operations) {
      model.equal([...change(r, k), [-passed(k), c.get(layer(k))], [1n, V.get(k)]], 0n);
    }
    for (const k of operations) {
      const x = layer(k) + (k < L ? 1 : 0);
      model.atLeast([[1n, free.get(k)], [-1n, r.get(k)], [1n, W.get(x)]], 0n);
    }
  }
  for (const { z, g, r } of classes) { // 6
    for (const i of layers.filter((i) => z[i] > 0n)) {
      const k = backward(i), n = next(k), size = [[-q * z[i], y0.get(i)], [-q * z[i], c.get(i)]];
      model.atLeast([[q, g.get(n)], [q, r.get(n)], [p, idle.get(k)], ...size], 0n);
    }
  }
  if (whole) { // 7
    const { h, g, q: free } = classes[0];
    for (const k of operations) model.atLeast([[B, H.get(k)], [-1n, h.get(k)]], 0n);
    for (const k of operations) {
      model.atLeast([[B, Q.get(k)], [-1n, g.get(k)], [-1n, free.get(k)]], 0n);
    }
  }
  const absent = ({ A, h, g, q: free }, G, k) => { // 8
    const there = whole && G === 0 ? [[-B, H.get(k)], [-B, Q.get(k)]]
      : [h, g, free].map((X) => [-1n, X.get(k)]);
    return [[1n, A.get(layer(k))], ...there];
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
    const i = layer(k), v = ceil(E[k], B), terms = [[1n, N.get(i)]];
    if (whole) terms.push([-1n, H.get(k)], [-1n, Q.get(k)]);
    if (R) terms.push([1n, R.get(i)]);
    const [j] = others;
    if (others.length === 1 && j !== i) {
      terms.push([v + floor(w[j] - E[k], B), (i < j ? y0 : y1).get(j)]);
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
      model.atLeast([[1n, S.get(i)]], BigInt(least));
    }
  }
  return [model, "all schedules"];
}

function milp(instance, resources, options) {
  onlyFields(options, ["cuts"], "the formulation");
  const cuts = list(options, "cuts");
  demand(cuts.every((cut) => ["3a", "3b", "7'", "6c"].includes(cut)), "there is no such cut");
  const cycle = readCycle(instance, resources);
  const { layers, operations, B, F, next, w, M, p, q, d, e, t0, Z } = cycle;
  const moved = layers.filter((i) => w[i] > 0n), model = new Model(t0), all = {};
  const names = cuts.includes("6c") ? "OPDmod" : "OPDmo";
  for (const name of names) {
    const columns = moved.map((i) => [i, model.columns(`${name}_${i}`, operations, (k) => {
      const isHere = k === B(i) || k === F(i);
      const isNone = (name === "o" && k === B(i)) || (name === "d" && isHere);
      return { isWhole: false, lo: name === "m" && isHere ? w[i] : 0n, hi: isNone ? 0n : w[i] };
    })]);
    all[name] = new Map(columns);
  }
  const [upload, gone1, gone0] = ["upload", "gone1", "gone0"].map((name) =>
    model.columns(name, moved));
  const idle = model.columns("idle", operations, () => ({ isWhole: false, hi: Z, cost: 1n }));
  const at = (name, i, k) => all[name].get(i).get(k);
  const change = (name, i, k) => [[1n, at(name, i, next(k))], [-1n, at(name, i, k)]];
  const around = (from, to) => {
    const between = [];
    for (let k = from; k !== to; k = next(k)) between.push(k);
    return between;
  };
  for (const name of ["O", "P"]) {
    for (const k of operations) {
      model.atMost([...moved.map((i) => [q, at(name, i, k)]), [-p, idle.get(k)]], p * d[k]);
    }
  }
  const waits = (i, k, names) =>
    model.atLeast([[p, idle.get(k)], ...[...names].map((name) => [-q, at(name, i, k)])], 0n);
  for (const i of moved) waits(i, B(i), "O");
  const forAll = (allowed, row) => {
    for (const i of moved) for (const k of operations) if (allowed(i, k)) row(i, k);
  };
  forAll(() => true, (i, k) =>
    model.equal([...change("m", i, k), [-1n, at("P", i, k)], [1n, at("D", i, k)]], 0n));
  forAll((i, k) => next(k) !== B(i), (i, k) =>
    model.equal([...change("o", i, k), [-1n, at("O", i, k)]], 0n));
  for (const k of operations) model.atMost(moved.map((i) => [1n, at("m", i, k)]), M - e[k]);
  forAll((i, k) => k !== B(i), (i, k) =>
    model.atLeast([[1n, at("m", i, k)], [1n, at("o", i, k)]], w[i]));
  for (const i of moved) {
    const k = operations.find((k) => next(k) === B(i));
    model.equal([[1n, at("o", i, k)], [1n, at("O", i, k)], [-w[i], upload.get(i)]], 0n);
  }
  for (const [gone, from, to] of [[gone1, F, B], [gone0, B, F]]) {
    for (const i of moved) {
      const dropped = around(from(i), to(i)).map((k) => [1n, at("D", i, k)]);
      model.equal([...dropped, [-w[i], gone.get(i)]], 0n);
    }
  }
  for (const i of moved) {
    if (cuts.includes("3a")) waits(i, B(i), "OP");
    if (cuts.includes("3b")) waits(i, F(i), "P");
    if (cuts.includes("7'")) model.atLeast([[1n, at("o", i, F(i))], [-w[i], gone0.get(i)]], 0n);
  }
  if (cuts.includes("6c")) {
    const isHere = (i, k) => k === B(i) || k === F(i);
    forAll((i, k) => !isHere(i, next(k)), (i, k) =>
      model.equal([...change("d", i, k), [-1n, at("D", i, k)]], 0n));
    forAll((i, k) => !isHere(i, k), (i, k) =>
      model.atLeast([[1n, at("o", i, k)], [-1n, at("d", i, k)]], 0n));
  }
  return [model, "all schedules"];
}

module.exports = { cover, aggregated, milp };
