// The integer program of a unit of multi-model: its columns, and the rows but those on memory.
"use strict";
const { sum, range } = require("../integers.js");
const { Model, minus } = require("../model.js");
const { PAIR, KEPT_F, MOVED_F, KEPT_B, MOVED_B, size, copy, again, run, plain, terms, present,
  partsOf } = require("./multi_model_terms.js");
const { addMemory } = require("./multi_model_memory.js");

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
  addMemory(unit, { n, f, b, T, S, U, Xf, Xb, Kf, Qf, Kb, Qb, inF, inB, z, h, hm, g, gm, onward });
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

module.exports = { unitModel };
