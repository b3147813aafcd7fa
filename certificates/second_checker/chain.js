// Chains: what is given, and the formulations of remat-chain.
"use strict";
const { sum, max, range } = require("./integers.js");
const { demand, amount, flag, some, onlyFields, checkKind } = require("./reading.js");
const { Model, total } = require("./model.js");
const { followProgram } = require("./bellman.js");

const COLUMNS = { f: "forward_ns", b: "backward_ns", s: "saved_bytes", of: "forward_overhead_bytes",
  os: "saving_overhead_bytes", ob: "backward_overhead_bytes", w: "weight_bytes",
  wg: "weight_gradient_bytes", ws: "optimizer_state_bytes", u: "update_ns", hu: "host_update_ns" };

// Stages from 1, and index 0 for the input; d are the gradients of outputs, and g is what that of a
// stage's input adds. Only training-chain reads wg, ws, u and hu, which are of the optimizer.
function readChain(instance) {
  checkKind(instance, "chain", ["input_bytes", "stages", "backward_overhead_holds_gradient"]);
  const holds = flag(instance, "backward_overhead_holds_gradient");
  const stages = some(instance, "stages"), input = amount(instance, "input_bytes");
  const chain = { N: stages.length, a: [input], d: [input], g: [0n] };
  for (const letter in COLUMNS) chain[letter] = [0n];
  stages.forEach((stage, number) => {
    const known = ["name", "output_bytes", "output_gradient_bytes", ...Object.values(COLUMNS)];
    onlyFields(stage, known, `stage ${number + 1}`);
    const output = amount(stage, "output_bytes");
    chain.g.push(holds ? 0n : chain.d[number]), chain.a.push(output);
    chain.d.push(amount(stage, "output_gradient_bytes", { otherwise: output }));
    for (const letter in COLUMNS) {
      const otherwise = letter === "os" ? chain.of.at(-1) : "fbs".includes(letter) ? undefined : 0n;
      chain[letter].push(amount(stage, COLUMNS[letter], { otherwise }));
    }
    const [s, of, os] = [chain.s, chain.of, chain.os].map((values) => values.at(-1));
    demand(s >= output, "a stage saves less than its output");
    demand(os <= of && s + os >= output + of, "a stage has no such overhead where it saves");
  });
  demand(chain.a.at(-1) === 0n && chain.d.at(-1) === 0n, "the loss has an output");
  return { ...chain, t0: sum(chain.f) + sum(chain.b) };
}

function chainCut({ N, a, d, s, f, g, os, ob, t0 }, { memory_bytes: M }, options) {
  const l = Number(amount(options, "stage", { least: 1n }));
  demand(l <= N, "there is no such stage");
  const below = range(1, l), model = new Model(t0 + sum(below.map((k) => f[k])));
  const saved = model.columns("saved", below, (k) => ({ cost: -f[k] }));
  const plain = l > 1 ? [model.column("plain")] : []; // the input of stage 1 is always there
  const held = [...below.map((k) => [s[k], saved[k]]), ...plain.map((j) => [a[l - 1], j])];
  model.atMost(held, M - a[0] - s[l] - max(os[l], d[l] + g[l] + ob[l]));
  if (l > 1) model.atLeast(total([saved[l - 1], ...plain]), 1n);
  return [model, "all schedules"];
}

module.exports = {
  resources: { memory_bytes: 0n }, read: readChain, readChain,
  formulations: {
    "chain-cut": { options: ["stage"], build: chainCut },
    "persistent-bellman": { options: [], follow: followProgram },
    "drops-bellman": { options: [], follow: followProgram },
  },
};
