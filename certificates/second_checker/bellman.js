// The dynamic programs of chains, persistent-bellman and drops-bellman, whose step functions are
// listed: a record `p s t m:h ...` says that stages s to t cost at least h more in m bytes.
"use strict";
const { max, range } = require("./integers.js");
const { demand, integer, place, pairs } = require("./reading.js");

function followProgram(chain, { memory_bytes: memory }, claim, lines) {
  const drops = claim.name === "drops-bellman", tables = drops ? ["C0", "E0", "C1", "E1"] : ["p"];
  const isRight = claim.k === 0n && claim.validFor === `persistent${drops ? " with drops" : ""}`;
  demand(isRight, "not what the formulation is for");
  const { N, a, d, s, f, g, of, os, ob, t0 } = chain;
  const [goal, cost] = claim.time === null ? [1n, f.map(() => 0n)] : [claim.time - t0, f];
  const listed = new Map();
  // What is listed of a sub-chain in m bytes; 0 where nothing is.
  const least = (table, from, to, m) =>
    listed.get(`${table} ${from} ${to}`)?.find(([bytes]) => bytes >= m)?.[1] ?? 0n;
  for (const line of lines) {
    const [table, first, second, ...rest] = line.split(" ");
    demand(tables.includes(table) && rest.length > 0, "no step function");
    const [from, to] = [first, second].map((text) => place(text, N + 1, "stage"));
    const key = `${table} ${from} ${to}`, kind = table[0], p = table[1] === "1" ? 1n : 0n;
    demand(1 <= from && from <= to && !listed.has(key), "no sub-chain, or listed before");
    const steps = pairs(rest).map(([m, h]) => [integer(m), h]);
    const falls = steps.every(([m, h], i) => !i || (m > steps[i - 1][0] && h < steps[i - 1][1]));
    demand(falls && steps[0][0] >= 0n && steps.at(-1)[1] >= 1n, "steps do not ascend and descend");
    const [stays, other] = drops ? [`C${p}`, `${kind}0`] : ["p", "p"];
    const held = kind === "E" ? a[from - 1] : 0n, waits = (d[to] < a[to] ? d : a)[to] + p * s[to];
    const forward = p && from === to ? 0n : waits + s[from] + os[from] + held;
    const saving = max(forward, kind === "E" ? 0n : s[from] + d[from] + g[from] + ob[from]);
    const inner = range(from + 1, to).map((j) => a[j - 1] + a[j] + of[j]);
    const passing = waits + max(a[from] + of[from], ...inner);
    for (const [m, h] of key === `E1 ${from} ${from}` ? [] : steps) { // which is infinite
      const saved = from === to ? 0n : least(stays, from + 1, to, m - s[from]), free = m - held;
      demand(m < saving || saved >= h, `${key} in ${m} bytes, saving, costs ${saved}`);
      for (let k = from + 1, again = 0n; k <= to && free >= passing; k++) {
        if ((again += cost[k - 1]) >= h) break; // what is listed is never negative
        const rest = free - a[k - 1];
        const split = rest < 0n ? h : least(stays, k, to, rest) + least(other, from, k - 1, m);
        demand(again + split >= h, `${key} in ${m} bytes, split at ${k}, costs less`);
        if (!drops || (p && k === to)) continue;
        const dropped = least(`E${p}`, k, to, free) + least(`${kind}1`, from, k, m);
        demand(again + dropped >= h, `${key} in ${m} bytes, dropping at ${k}, costs less`);
      }
    }
    listed.set(key, steps);
  }
  const M = memory - a[0];
  demand(M < 0n || least(tables[0], 1, N, M) >= goal, "the steps do not prove the claim");
  return `steps of ${listed.size} sub-chains`;
}

module.exports = { followProgram };
