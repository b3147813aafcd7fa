#!/usr/bin/env node
// A second checker of jettison's certificates, for Node 18 or later and nothing else:
//
//     node check.js FILE...        status 0 if all are proved, 2 if one is not, else 3 if one is of
//                                  a formulation that is not known here
//
// It was written from docs/certificates.md, and shares nothing with the checker in Python.
"use strict";
const crypto = require("node:crypto");
const { Refused, NotKnown, demand, linesOf, parseJson, canonical, onlyFields, field, amount, text,
} = require("./reading.js");
const { followTree } = require("./tree.js");
const { followProgram } = require("./bellman.js");
const remat = require("./remat.js");
const offload = require("./weight_offload.js");
const sharding = require("./sharding.js");
const partition = require("./three_partition.js");

// Problem, formulation and version; and what builds the model, or follows the dynamic program.
const FORMULATIONS = {
  "remat-chain drops-bellman 1": followProgram,
  "remat-chain persistent-bellman 1": followProgram,
  "remat-chain chain-cut 1": remat.chainCut,
  "remat-graph memory-floor 1": remat.graphMemoryFloor,
  "remat-graph windowed-frontier 1": remat.windowedFrontier,
  "weight-offload aggregated 1": offload.aggregated,
  "weight-offload cover 1": offload.cover,
  "weight-offload milp 1": offload.milp,
  "sharding strategy-choice 1": sharding.strategyChoice,
  "remat-sharding kiwi-reduced-compact 1": sharding.kiwiReducedCompact,
  "remat-sharding memory-floor 1": sharding.shardedMemoryFloor,
  "remat-sharding sharding-only 1": sharding.shardingOnly,
  "three-partition assignment 1": partition.assignment,
  "three-partition triples 1": partition.triples,
};
const RESOURCES = { "three-partition": [], "weight-offload": ["memory_bytes", "bytes_per_s"] };

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

function check(path) {
  const lines = linesOf(path);
  demand(lines.next().value === "jettison certificate 1", "this is no certificate");
  const claim = readClaim(parseJson(lines.next().value ?? ""));
  const key = `${claim.problem} ${claim.name} ${claim.version}`;
  if (!Object.hasOwn(FORMULATIONS, key)) throw new NotKnown(key);
  onlyFields(claim.resources, RESOURCES[claim.problem] ?? ["memory_bytes"], "resources");
  const said = claim.time === null ? "there is no schedule" : `at least ${claim.time} ns`;
  const about = `${said} (${claim.validFor}), ${claim.problem}, ${claim.sha256}, ${claim.name}`;
  if (FORMULATIONS[key] === followProgram) return `${about}, ${followProgram(claim, lines)}`;
  const [model, validFor] = FORMULATIONS[key](claim.instance, claim.resources, claim.options);
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
module.exports = { FORMULATIONS };
