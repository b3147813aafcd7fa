// Rows of a round of a unit of multi-model: memory, the time between two milestones, a shared link.
"use strict";
const { max, least, range } = require("../integers.js");
const { minus } = require("../model.js");
const { KEPT_F, MOVED_F, run, plain, terms, present } = require("./multi_model_terms.js");

const NS_PER_S = 1_000_000_000n;

function addMemory(unit, round) {
  const { n, f, b, T, S, U, Xf, Xb, Kf, Qf, Kb, Qb, inF, inB, z, h, hm, g, gm, onward } = round;
  const { model, time, sumOf, room, inMemory, isPair, total, H } = unit, { u, P } = f, { v, J } = b;
  const p_ = range(0, P.length), j_ = range(0, J.length);
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

module.exports = { addMemory };
