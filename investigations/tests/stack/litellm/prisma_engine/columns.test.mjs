import assert from "node:assert/strict";
import { test } from "node:test";
import { columnType, parsers } from "../prisma_engine/columns.mjs";

const parse = (oid, text) => parsers.getTypeParser(oid)(text);

test("types Prisma's own adapter does not know are text", () => {
  for (const oid of [18, 19, 1186, 2278, 99999]) assert.equal(columnType(oid), 7);
  assert.equal(columnType(1003), 71);
  assert.deepEqual(parse(1003, '{a,"b c",NULL}'), ["a", "b c", null]);
});

test("numbers that fit are numbers, the others stay text", () => {
  assert.equal(parse(23, "-7"), -7);
  assert.equal(parse(701, "0.1"), 0.1);
  assert.equal(parse(20, "9223372036854775807"), "9223372036854775807");
  assert.equal(parse(1700, "1.500"), "1.500");
  assert.deepEqual(parse(1016, "{1,NULL}"), ["1", null]);
});

test("instants carry their offset in full", () => {
  assert.equal(parse(1184, "2024-05-06 07:08:09.123456+00"), "2024-05-06T07:08:09.123456+00:00");
  assert.equal(parse(1184, "2024-05-06 07:08:09-03:30"), "2024-05-06T07:08:09-03:30");
  assert.deepEqual(parse(1185, '{"2024-05-06 07:08:09+05:30"}'), ["2024-05-06T07:08:09+05:30"]);
  assert.equal(parse(1114, "2024-05-06 07:08:09"), "2024-05-06 07:08:09");
});

test("booleans, bytes, JSON and their lists", () => {
  assert.deepEqual(parse(1000, "{t,f,NULL}"), [true, false, null]);
  assert.deepEqual(parse(17, "\\x00ff"), [0, 255]);
  assert.equal(parse(3802, '{"a": 12345678901234567890}'), '{"a": 12345678901234567890}');
  assert.deepEqual(parse(3807, '{"{\\"a\\": \\"b,c\\"}",NULL}'), ['{"a": "b,c"}', null]);
});
