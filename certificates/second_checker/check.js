#!/usr/bin/env node
// A second checker of jettison's certificates, for Node 18 or later and nothing else:
//
//     node check.js FILE...        status 0 if all are proved, 2 if one is not, else 3 if one is of
//                                  a formulation that is not known here
//
// It was written from docs/certificates.md, and shares nothing with the checker in Python. Letters
// in the code are those of the page.
"use strict";
const crypto = require("node:crypto");
const { Refused, NotKnown, demand, linesOf, parseJson, canonical, onlyFields, field, amount, text,
} = require("./reading.js");
const { followTree } = require("./tree.js");

// The module of each problem: its resources with the least value of each, what reads its instances,
// and its formulations: their options, and what builds the model or follows the dynamic program.
const PROBLEMS = {
  "multi-model": "./problems/multi_model.js", "remat-chain": "./chain.js",
  "remat-graph": "./problems/remat_graph.js",
  "remat-offload-chain": "./problems/remat_offload.js",
  "remat-sharding": "./problems/remat_sharding.js",
  sharding: "./problems/sharding.js",
  "three-partition": "./problems/three_partition.js",
  "training-chain": "./problems/training_chain.js",
  "weight-offload": "./problems/weight_offload.js",
};

function readClaim(header) {
  const keys = ["problem", "instance", "instance_sha256", "resources", "formulation", "claim",
    "valid_for", "scale_bits", "producer"];
  onlyFields(header, keys, "the header");
  const part = (key) => field(header, key, null, (v) => v instanceof Map, "an object");
  const [instance, resources, claimed] = ["instance", "resources", "claim"].map(part);
  const content = new Map(instance), options = new Map(part("formulation"));
  content.delete("name"), content.delete("provenance");
  const sha256 = crypto.createHash("sha256").update(canonical(content)).digest("hex");
  demand(sha256 === text(header, "instance_sha256"), "the instance has another hash");
  onlyFields(claimed, ["time_ns", "infeasible"], "the claim");
  const infeasible = claimed.get("infeasible") === true;
  demand(claimed.size === 1 && (infeasible || claimed.has("time_ns")), "the claim is none");
  const name = text(options, "name"), version = amount(options, "version", { least: 1n });
  options.delete("name"), options.delete("version");
  const k = amount(header, "scale_bits");
  demand(k <= 256n, "there are too many scale bits");
  return { problem: text(header, "problem"), instance, resources, name, version, options, k,
    validFor: text(header, "valid_for"), sha256,
    time: infeasible ? null : amount(claimed, "time_ns") };
}

// What a claim is about: the instance as its problem reads it, the resources, the formulation.
function given({ problem, name, version, instance, resources, options }) {
  const of = Object.hasOwn(PROBLEMS, problem) ? require(PROBLEMS[problem]) : { formulations: {} };
  const isKnown = Object.hasOwn(of.formulations, name) && version === 1n;
  if (!isKnown) throw new NotKnown(`${problem} ${name} ${version}`);
  const formulation = of.formulations[name];
  const optional = Object.entries(of.optional ?? {}).filter(([key]) => resources.has(key));
  const known = { ...of.resources, ...Object.fromEntries(optional) };
  onlyFields(resources, Object.keys(known), "resources");
  onlyFields(options, formulation.options, "the formulation");
  const amounts = Object.entries(known).map(([key, least]) =>
    [key, amount(resources, key, { least })]);
  return { formulation, resources: Object.fromEntries(amounts), instance: of.read(instance) };
}

function check(path) {
  const lines = linesOf(path);
  demand(lines.next().value === "jettison certificate 1", "this is no certificate");
  const claim = readClaim(parseJson(lines.next().value ?? ""));
  const { formulation, instance, resources } = given(claim);
  const said = claim.time === null ? "there is no schedule" : `at least ${claim.time} ns`;
  const about = `${said} (${claim.validFor}), ${claim.problem}, ${claim.sha256}, ${claim.name}`;
  if (formulation.follow) {
    return `${about}, ${formulation.follow(instance, resources, claim, lines)}`;
  }
  const [model, validFor] = formulation.build(instance, resources, claim.options);
  demand(claim.validFor === validFor, `the formulation holds for ${validFor}`);
  const exceed = claim.time === null ? null : model.toExceed(claim.time);
  return `${about}, ${followTree(model, claim.k, exceed, lines)}`;
}

function main(paths) {
  let status = 0;
  for (const path of paths) {
    try {
      console.log(`${path}: proved: ${check(path)}`);
    } catch (error) {
      if (!(error instanceof Refused || error instanceof NotKnown)) throw error;
      const word = error instanceof Refused ? "refused" : "not known";
      console.log(`${path}: ${word}: ${error.message.slice(0, 500).replace(/[^ -~]/g, "?")}`);
      status = word === "refused" ? 2 : status || 3;
    }
  }
  process.exitCode = status;
}

if (require.main === module) main(process.argv.slice(2));
module.exports = { given };
