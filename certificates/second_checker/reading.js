// Reading: the lines of a file, numbers in records, JSON with exact integers, fields of objects.
"use strict";
const fs = require("node:fs");
const zlib = require("node:zlib");

class Refused extends Error {}
class NotKnown extends Error {}
class NoInteger {} // a number with a fraction or an exponent
const refuse = (reason) => { throw new Refused(reason); };
const demand = (holds, reason) => holds || refuse(reason);

const MOST_BYTES = 2 ** 29, MOST_LINE = 2 ** 24, MOST_DIGITS = 400, MOST_DEPTH = 500;
const MOST_AMOUNT = 1n << 80n;

function* linesOf(path) {
  let data = fs.readFileSync(path);
  if (data[0] === 0x1f && data[1] === 0x8b) {
    try {
      const { buffer, engine } = zlib.gunzipSync(data, { maxOutputLength: MOST_BYTES, info: true });
      const rest = data.subarray(engine.bytesWritten);
      demand(rest.every((byte) => byte === 0), "something follows the compressed data");
      data = buffer;
    } catch (error) {
      throw new Refused(`the compressed file is broken: ${error.message}`);
    }
  }
  demand(data.length <= MOST_BYTES, "the file is too long");
  for (let start = 0; start < data.length; ) {
    const end = data.indexOf(10, start);
    demand(end >= 0 && end - start < MOST_LINE, "a line is too long, or has no end");
    const line = data.subarray(start, end);
    demand(line.every((byte) => byte < 128), "only ASCII characters are allowed");
    yield line.toString("latin1");
    start = end + 1;
  }
}

function integer(text) {
  const canonical = /^(0|-?[1-9][0-9]{0,399})$/.test(text ?? "");
  return canonical ? BigInt(text) : refuse(`no integer of at most ${MOST_DIGITS} digits: ${text}`);
}

function place(text, count, what) {
  const value = Number(integer(text));
  demand(value >= 0 && value < count, `there is no ${what} ${text}`);
  return value;
}

function pairs(parts, sign = ":") {
  return parts.map((part) => {
    const at = part.indexOf(sign);
    return at < 0 ? [part, 0n] : [part.slice(0, at), integer(part.slice(at + 1))];
  });
}

// JSON with exact integers: objects become Maps, integers BigInts.
function parseJson(text) {
  const string = String.raw`"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"`;
  const number = String.raw`-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?`;
  const words = `([{}[\\],:])|(${string})|(${number})|(true|false|null)`;
  const token = new RegExp(`[ \\t\\n\\r]*(?:${words})`, "y");
  const next = () => token.exec(text) ?? refuse("the header is not JSON");
  function value(found, depth) {
    demand(depth < MOST_DEPTH, "the header nests too deeply");
    if (found[2]) return JSON.parse(found[2]);
    if (found[3]) {
      if (/[.eE]/.test(found[3])) return new NoInteger();
      demand(found[3].replace("-", "").length <= MOST_DIGITS, "a number is too long");
      return BigInt(found[3]);
    }
    if (found[4]) return { true: true, false: false, null: null }[found[4]];
    const list = [], object = new Map(), isList = found[1] === "[";
    demand(isList || found[1] === "{", "the header is not JSON");
    for (let item = next(); ; item = next()) {
      if (item[1] === (isList ? "]" : "}") && list.length + object.size === 0) break;
      if (isList) list.push(value(item, depth + 1));
      else {
        demand(item[2], "a key is not a text");
        const key = JSON.parse(item[2]);
        demand(next()[1] === ":" && !object.has(key), `the key ${key} stands twice`);
        object.set(key, value(next(), depth + 1));
      }
      const mark = next()[1];
      if (mark === (isList ? "]" : "}")) break;
      demand(mark === ",", "the header is not JSON");
    }
    return isList ? list : object;
  }
  const found = value(next(), 0);
  demand(/^[ \t\n\r]*$/.test(text.slice(token.lastIndex)), "something follows the header");
  return found;
}

function canonical(value) {
  if (value instanceof Map) {
    const keys = [...value.keys()].sort();
    return `{${keys.map((key) => `${canonical(key)}:${canonical(value.get(key))}`).join(",")}}`;
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  demand(!(value instanceof NoInteger), "a number of the instance is not an integer");
  if (typeof value !== "string") return String(value);
  // JSON.stringify writes the short forms, and leaves what is not ASCII and U+007F as it is.
  const long = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[^ -~]/g, long);
}

function onlyFields(object, known, what) {
  demand(object instanceof Map, `${what} is not an object`);
  for (const key of object.keys()) demand(known.includes(key), `${what} has the field ${key}`);
}

function field(object, key, otherwise, isRight, what) {
  const value = object.has(key) ? object.get(key) : otherwise;
  return isRight(value) ? value : refuse(`${key} is not ${what}`);
}

const isAmount = (value, least = 0n) =>
  typeof value === "bigint" && value >= least && value <= MOST_AMOUNT;
const amount = (object, key, { least = 0n, otherwise } = {}) =>
  field(object, key, otherwise, (v) => isAmount(v, least), `an integer from ${least} on`);
const flag = (o, key, off = false) => field(o, key, off, (v) => typeof v === "boolean", "a flag");
const list = (object, key) => field(object, key, [], Array.isArray, "a list");
const some = (object, key) =>
  field(object, key, null, (v) => Array.isArray(v) && v.length > 0, "a list of at least one");
const text = (object, key) => field(object, key, null, (v) => typeof v === "string", "a text");

// The fields that all instances have, and no others than these and those of the kind.
function checkKind(instance, kind, fields) {
  const known = ["format", "kind", "version", "name", "provenance", ...fields];
  onlyFields(instance, known, "the instance");
  for (const [key, value] of Object.entries({ format: "jettison", kind, version: 1n })) {
    demand(instance.get(key) === value, `${key} is not ${value}`);
  }
  text(instance, "name");
}

module.exports = { MOST_DIGITS, Refused, NotKnown, demand, linesOf, integer, place, pairs,
  parseJson, canonical, onlyFields, field, isAmount, amount, flag, list, some, text, checkKind };
