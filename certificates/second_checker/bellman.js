// The dynamic programs of chains, whose step functions are listed.
"use strict";
const { max, range } = require("./integers.js");
const { demand, integer, place, pairs, onlyFields, amount } = require("./reading.js");
const { readChain } = require("./instances.js");

function followProgram(claim, lines) {
  onlyFields(claim.options, [], "the formulation");
  const drops = claim.name === "drops-bellman", tables = drops ? ["C0", "E0", "C1", "E1"] : ["p"];
  const isRight = claim.k === 0n && claim.validFor === `persistent${drops ? " with drops" : ""}`;
  demand(isRight, "not what the formulation is for");
  const { N, a, s, f, g, of, ob, t0 } = readChain(claim.instance);
  const [goal, cost] = claim.time === null ? [1n, f.map(() => 0n)] : [claim.time - t0, f];
  const listed = new Map();
  const least = (table, from, to, m) => {
    const steps = listed.get(`${table} ${from} ${to}`) ?? [];
    let low = 0;
    for (let high = steps.length; low < high; ) {
      const middle = (low + high) >> 1;
      steps[middle][0] >= m ? (high = middle) : (low = middle + 1);
    }
    return steps[low]?.[1] ?? 0n;
  };
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
    const held = kind === "E" ? a[from - 1] : 0n, waiting = a[to] + p * s[to];
    const forward = p && from === to ? 0n : waiting + s[from] + of[from] + held;
    const saving = max(forward, kind === "E" ? 0n : s[from] + a[from] + g[from] + ob[from]);
    const inner = range(from + 1, to).map((j) => a[j - 1] + a[j] + of[j]);
    const passing = waiting + max(a[from] + of[from], ...inner);
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
  const M = amount(claim.resources, "memory_bytes") - a[0];
  demand(M < 0n || least(tables[0], 1, N, M) >= goal, "the steps do not prove the claim");
  return `steps of ${listed.size} sub-chains`;
}

module.exports = { followProgram };
