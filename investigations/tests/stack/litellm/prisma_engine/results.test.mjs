import assert from "node:assert/strict";
import { test } from "node:test";
import { isData, renderData, untag } from "../prisma_engine/results.mjs";
import { randomFrom, randomJson, randomText } from "./schema.mjs";

const tagged = (type, value) => ({ $type: type, value });
const answer = (value, operation = "findUniqueUser") => JSON.stringify({ data: { [operation]: value } });
const result = (text) => JSON.parse(text).data.result;
const cell = (type, value) => ({ prisma__type: type, prisma__value: value });

test("data and errors are told apart", () => {
  assert.ok(isData(answer(null)));
  assert.ok(!isData('{"errors":[]}'));
});

test("tagged scalars become plain ones", () => {
  const row = {
    big: tagged("BigInt", "9223372036854775807"),
    price: tagged("Decimal", "1.50"),
    born: tagged("DateTime", "2024-02-29T00:00:00.000Z"),
    meta: tagged("Json", '{"a":"}\\""}'),
    blob: tagged("Bytes", "AP8="),
    list: [tagged("Json", "null"), tagged("BigInt", "-1")],
    team: { id: "t", options: tagged("Json", "[1]") },
    none: null,
    yes: true,
    score: 0.5,
  };
  const text = renderData(answer(row), "findUnique");
  assert.match(text, /"big":9223372036854775807,/);
  assert.deepEqual(result(text.replace("9223372036854775807", "1")), {
    ...row, big: 1, price: "1.50", born: "2024-02-29T00:00:00.000Z", meta: '{"a":"}\\""}', blob: "AP8=", list: ["null", -1],
    team: { id: "t", options: "[1]" },
  });
});

test("text that looks like a tag is left alone", () => {
  const row = { name: '{"$type":"BigInt","value":"1"}', meta: tagged("Json", '{"$type":"BigInt","value":"1"}') };
  assert.deepEqual(result(renderData(answer(row), "findUnique")), { name: row.name, meta: row.meta.value });
});

test("null, lists and counts", () => {
  assert.equal(result(renderData(answer(null), "findUnique")), null);
  assert.deepEqual(result(renderData(answer([]), "findMany")), []);
  assert.deepEqual(result(renderData(answer({ count: 3 }, "updateManyUser"), "updateMany")), { count: 3 });
  assert.equal(result(renderData(answer(7, "executeRaw"), "executeRaw")), 7);
});

test("raw rows take the form of engines before 5.15", () => {
  const rows = {
    columns: ['we"ird', "n", "j", "l", "e"],
    types: ["string", "bigint", "json", "string-array", "int-array"],
    rows: [["a,]}", "9007199254740993", { k: ["]"] }, ["x", null], []], [null, null, null, null, null]],
  };
  assert.deepEqual(result(renderData(answer(rows, "queryRaw"), "queryRaw")), [
    {
      'we"ird': cell("string", "a,]}"),
      n: cell("bigint", "9007199254740993"),
      j: cell("json", { k: ["]"] }),
      l: cell("array", [cell("string", "x"), cell("null", null)]),
      e: cell("array", []),
    },
    Object.fromEntries(rows.columns.map((column) => [column, cell("null", null)])),
  ]);
});

test("a number inside raw JSON keeps its digits", () => {
  const text = '{"data":{"queryRaw":{"columns":["j"],"types":["json"],"rows":[[{"a":12345678901234567890}]]}}}';
  assert.match(renderData(text, "queryRaw"), /\{"a":12345678901234567890\}/);
});

test("no rows, no columns", () => {
  assert.deepEqual(result(renderData(answer({ columns: [], types: [], rows: [] }, "queryRaw"), "queryRaw")), []);
  assert.deepEqual(result(renderData(answer({ columns: [], types: [], rows: [[], []] }, "queryRaw"), "queryRaw")), [{}, {}]);
});

test("untagging random answers changes nothing but the tags", () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const random = randomFrom(seed);
    const inner = randomText(random);
    const row = { a: randomText(random), b: tagged("Json", inner), c: [tagged("DateTime", inner), null], d: randomJson(random) };
    const plain = { ...row, b: inner, c: [inner, null] };
    if (JSON.stringify(row.d).includes('{"$type":"')) continue;
    assert.deepEqual(JSON.parse(untag(JSON.stringify(row))), plain, `seed ${seed}`);
  }
});
