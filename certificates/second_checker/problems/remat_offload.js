// Chains with a link to the host, and the formulations of remat-offload-chain: least costs of the
// parts (records c) and of the states (records o) of POFO's dynamic program.
"use strict";
const { max, min, range } = require("../integers.js");
const { demand, integer, place, pairs, amount } = require("../reading.js");
const { Model } = require("../model.js");
const { readChain } = require("../chain.js");

const NS_PER_S = 1_000_000_000n;
const above = (value) => (value > 0n ? value : 0n); // (value)+

function memoryFloor({ N, a, d, s, g, os, ob, t0 }, { memory_bytes: M }) {
  const model = new Model(t0);
  model.atMost([], M - a[0]);
  for (const l of range(1, N + 1)) {
    model.atMost([], M - a[l - 1] - s[l] - max(os[l], d[l] + g[l] + ob[l]));
  }
  return [model, "all schedules"];
}

// The chain in ticks and units; U(i, j), and for each i the runs P, w, wF, wB up to k = i, i+1, ...
function inUnits(chain, M, ticks, units, counts) {
  const size = (values) => values.map((value) => value * units);
  const time = (values) => values.map((value) => (counts ? value * ticks : 0n));
  const [a, s, of, os] = [chain.a, chain.s, chain.of, chain.os].map(size);
  const [f, b] = [chain.f, chain.b].map(time);
  const e = a.map((_, l) => min(a[l], chain.d[l] * units)); // what a part below waits with
  const back = s.map((_, l) => s[l] + (chain.d[l] + chain.g[l] + chain.ob[l]) * units); // M_B
  const save = s.map((_, l) => s[l] + os[l]); // S
  const until = [0n];
  for (const l of range(1, chain.N + 1)) until.push(until[l - 1] + f[l] + b[l]);
  const runs = range(0, chain.N + 1).map((i) => {
    const found = [];
    let [P, w, wF, wB] = [0n, 0n, 0n, 0n];
    for (const k of i ? range(i, chain.N + 1) : []) {
      const need = (k > i ? a[k - 1] : 0n) + a[k] + of[k];
      const wider = [max(w, need), max(wF, need - P), max(wB - f[k], need)];
      [w, wF, wB] = k > i ? wider : [need, need, need];
      P += f[k];
      found[k] = { P, w, wF, wB };
    }
    return found;
  });
  return { N: chain.N, M: M * units, a, e, s, f, b, back, save, runs,
    U: (i, j) => until[j] - until[i - 1] };
}

function followPofo(given, { memory_bytes: bytes, bytes_per_s: rate }, claim, lines) {
  demand(claim.k === 0n && claim.validFor === "pofo", "not what the formulation is for");
  const [ticks, units] = ["link_bytes", "link_ns"].map((key) =>
    amount(claim.options, key, { least: 1n }));
  demand(ticks * NS_PER_S >= rate * units, "the link is slower than the one that is given");
  const counts = claim.time !== null;
  const { N, M, a, e, s, f, b, back, save, runs, U } = inUnits(given, bytes, ticks, units, counts);
  const goal = counts ? (claim.time - 1n - given.t0) * ticks + 1n : 1n;
  const parts = new Map(), states = new Map();

  // What is listed of a part, at least; null where it is infinite.
  function c(i, j, m, D) {
    const h = m - back[i];
    if (h < 0n) return null;
    const wait = above(D - h), d = D - wait;
    let least = 0n;
    for (const record of parts.get(`${i} ${j}`) ?? []) {
      if (record.m < m) break; // they descend
      for (const [Dr, hr] of record.points) least = max(least, hr - above(Dr - d));
    }
    return wait + least;
  }
  const room = (i, x, A) => M - A - (x ? s : a)[i - 1];
  // Whether what is listed proves that a state costs so much.
  function proves(i, x, A, F, B, cost) {
    const v = room(i, x, A), hF = v - runs[i][i].w, hB = v - back[i];
    if (hF < 0n || hB < 0n) return true;
    const left = cost - above(F - hF) - above(B - hB);
    if (left <= 0n) return true;
    const [leaves, comes] = [min(F, hF), min(B, hB)], listed = states.get(`${i} ${x}`) ?? [];
    for (let at = listed.length - 1; at >= 0; at--) {
      if (listed[at].A > A) continue;
      for (const [Fr, Br, hr] of listed[at].points) {
        if (hr >= left && hr - above(Fr - leaves) - above(Br - comes) >= left) return true;
      }
    }
    return false;
  }
  function checkPart(i, j, m, D, cost) {
    const h = m - back[i], free = m - e[j], wait = above(D - h), d = D - wait, rest = cost - wait;
    if (h < 0n) return;
    const hA = free - save[i];
    if (hA >= 0n) {
      const D1 = above(d - b[i]), inner = i === j ? 0n : c(i + 1, j, m - s[i], D1);
      const least = inner === null ? rest : max(inner, D1 - hA - (i === j ? 0n : U(i + 1, j)));
      demand(least >= rest, `c ${i} ${j} in ${m}, saving, costs less`);
    }
    for (const k of range(i, j)) {
      const { P, w, wB } = runs[i][k];
      if (P >= rest || w > free) break;
      const c1 = c(i, k, m, d);
      const c2 = c1 === null ? null : c(k + 1, j, m - a[k], above(d - U(i, k) - c1));
      const least = c2 === null ? rest : P + max(c1 + c2, d - (free - wB) - U(i, j));
      demand(least >= rest, `c ${i} ${j} in ${m}, split at ${k}, costs less`);
    }
  }
  function checkState(i, x, A, F, B, cost) {
    const v = room(i, x, A), hF = v - runs[i][i].w, hB = v - back[i];
    if (hF < 0n || hB < 0n) return;
    const I = (x ? s : a)[i - 1], moved = counts ? I : 0n;
    const left = cost - above(F - hF) - above(B - hB), [F0, B0] = [min(F, hF), min(B, hB)];
    // Both that may follow: the input is kept, or offloaded.
    const follow = (next, kind, F1, B1, rest) =>
      proves(next, kind, A + I, above(F1), B1, rest) &&
      proves(next, kind, A, above(F1 + moved), B1 + moved, rest);
    const r = v - save[i];
    if (r >= 0n) {
      const rest = left - above(F0 - r), F1 = min(F0, r) - f[i], B1 = above(B0 - b[i]);
      const holds = i === N ? above(F1) + B1 >= rest : follow(i + 1, 1, F1, B1, rest);
      demand(holds, `o ${i} ${x} ${A}, saving, costs less`);
    }
    for (const j of range(i, N)) {
      const { P, w, wF } = runs[i][j];
      if (P >= left || w > v) break;
      const part = c(i, j, v, B0);
      if (part === null) continue;
      const rest = left - P - above(F0 - (v - wF)) - part;
      const holds = follow(j + 1, 0, min(F0, v - wF) - P, above(B0 - U(i, j) - part), rest);
      demand(holds, `o ${i} ${x} ${A}, up to ${j}, costs less`);
    }
  }

  let count = 0;
  for (const line of lines) {
    const [letter, first, second, third, ...rest] = line.split(" ");
    demand((letter === "c" || letter === "o") && rest.length > 0, "no record of a state or part");
    const i = place(first, N + 1, "stage"), m = integer(third);
    demand(i >= 1 && m >= 0n, "no stage, or less than no memory");
    count += rest.length;
    if (letter === "c") {
      const j = place(second, N + 1, "stage"), key = `${i} ${j}`;
      const points = pairs(rest).map(([D, h]) => [integer(D), h]);
      const listed = parts.get(key) ?? [];
      demand(i <= j && !(listed.at(-1)?.m <= m), "no sub-chain, or its memories do not descend");
      demand(points.every(([D, h]) => D >= 0n && h >= 1n), "an amount or a cost is too small");
      for (const [D, h] of points) checkPart(i, j, m, D, h);
      listed.push({ m, points });
      parts.set(key, listed);
    } else {
      const x = place(second, i > 1 ? 2 : 1, "kind of input"), key = `${i} ${x}`;
      const points = rest.map((text) => text.split(":").map(integer));
      const listed = states.get(key) ?? [];
      demand(!(listed.at(-1)?.A >= m), "what is kept does not ascend");
      const isPoint = (p) => p.length === 3 && p[0] >= 0n && p[1] >= 0n && p[2] >= 1n;
      demand(points.every(isPoint), "an amount or a cost is too small, or no point");
      for (const [F, B, h] of points) checkState(i, x, m, F, B, h);
      listed.push({ A: m, points });
      states.set(key, listed);
    }
  }
  demand(proves(1, 0, 0n, 0n, 0n, goal), "the states do not prove the claim");
  return `${count} points`;
}

module.exports = {
  resources: { memory_bytes: 0n, bytes_per_s: 1n },
  read: readChain,
  formulations: {
    "memory-floor": { options: [], build: memoryFloor },
    "pofo-bellman": { options: ["link_bytes", "link_ns"], follow: followPofo },
  },
};
