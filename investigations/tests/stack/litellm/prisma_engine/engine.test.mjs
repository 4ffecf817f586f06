import assert from "node:assert/strict";
import { test } from "node:test";
import { Datamodel } from "../prisma_engine/datamodel.mjs";
import { Engine } from "../prisma_engine/engine.mjs";
import { ConnectionTrouble } from "../prisma_engine/errors.mjs";
import { Operations } from "../prisma_engine/operations.mjs";
import { loadQueryEngine } from "../prisma_engine/wasm.mjs";
import { Json, SCHEMA, python } from "./schema.mjs";

const TEXT = 7;
const QueryEngine = loadQueryEngine();
const nothing = { ok: true, value: { columnNames: [], columnTypes: [], rows: [] } };

/** Prisma's real engine on a database that answers each statement by a script. */
async function engineOn(answer, { begin = () => undefined } = {}) {
  const seen = [];
  const external = new Map();
  const run = async (query) => {
    seen.push(query);
    return answer(query.sql, external) ?? nothing;
  };
  const driver = {
    provider: "postgres",
    adapterName: "script",
    queryRaw: run,
    executeRaw: async (query) => {
      const { ok, value, error } = await run(query);
      return ok ? { ok, value: value.affected ?? 1 } : { ok, error };
    },
    getConnectionInfo: () => ({ ok: true, value: {} }),
  };
  const end = async () => ({ ok: true, value: undefined });
  const startTransaction = async () => {
    await begin();
    return { ok: true, value: { ...driver, options: { usePhantomQuery: false }, commit: end, rollback: end } };
  };
  const adapter = { bind: () => ({ ...driver, startTransaction }), takeExternal: (id) => external.get(id) };
  const operations = new Operations();
  const parts = { QueryEngine, schema: SCHEMA, datamodel: new Datamodel(SCHEMA), adapter, operations, environment: {} };
  const engine = new Engine({ ...parts, onPanic: () => assert.fail("the engine panicked") });
  await engine.connect();
  const ask = async (text, transaction) => JSON.parse(await engine.request({ query: text }, transaction));
  return { engine, operations, ask, seen };
}

const table = (columns, rows) => ({ ok: true, value: { columnNames: columns, columnTypes: columns.map(() => TEXT), rows } });
const find = python("findUniqueUser", "query", { where: { id: "a" } }, "{ id name }");
const create = (data) => python("createOneUser", "mutation", { data }, "{ id }");

test("a query goes to SQL and its row comes back as result", async () => {
  const { ask, seen, operations } = await engineOn((sql) => sql.startsWith("SELECT") && table(["id", "name"], [["a", 'n"\n']]));
  assert.deepEqual(await ask(find), { data: { result: { id: "a", name: 'n"\n' } } });
  assert.equal(seen[0].args[0], "a");
  const [{ model, action, count, errors }] = operations.list();
  assert.deepEqual({ model, action, count, errors }, { model: "User", action: "findUnique", count: 1, errors: 0 });
});

test("Json reaches SQL as the JSON meant, never as a JSON string of it", async () => {
  const { ask, seen } = await engineOn(() => table(["id"], [["a"]]));
  for (const value of [{ a: [1, null, "x"] }, "text", 5, null, [], true, { $type: "Raw" }]) {
    seen.length = 0;
    await ask(create({ id: "a", meta: new Json(value) }));
    const { sql, args } = seen[0];
    const columns = /\(([^)]*)\) VALUES/.exec(sql)[1].split(",");
    assert.deepEqual(JSON.parse(args[columns.indexOf('"meta"')]), value);
  }
});

test("integers and lists reach SQL whole", async () => {
  const { ask, seen } = await engineOn(() => table(["id"], [["a"]]));
  await ask(create({ id: "a", big: 9223372036854775807n, tags: ["x,", 'y"'] }));
  assert.ok(seen[0].args.includes(9223372036854775807n));
  assert.ok(seen[0].args.some((argument) => Array.isArray(argument) && argument[1] === 'y"'));
});

test("Postgres errors become Prisma's codes", async () => {
  const cases = [
    ["23505", "P2002", { detail: "Key (id)=(a) already exists." }],
    ["23503", "P2003", {}],
    ["40001", "P2034", {}],
    ["42P01", "P2021", { message: 'relation "User" does not exist' }],
  ];
  for (const [code, expected, more] of cases) {
    const error = { kind: "Postgres", code, severity: "ERROR", message: "m", detail: undefined, column: undefined, hint: undefined, ...more };
    const { ask, operations } = await engineOn(() => ({ ok: false, error }));
    const { errors } = await ask(create({ id: "a" }));
    assert.equal(errors[0].user_facing_error.error_code, expected);
    assert.equal(operations.list()[0].errors, 1);
  }
});

test("an error of the driver is looked up and told in Prisma's words", async () => {
  const trouble = new ConnectionTrouble("P1001", "Can't reach database server at `h:1`", { database_host: "h", database_port: 1 });
  const { ask } = await engineOn((sql, external) => {
    external.set(7, trouble);
    return { ok: false, error: { kind: "GenericJs", id: 7 } };
  });
  const { errors } = await ask(find);
  assert.deepEqual(errors[0].user_facing_error, {
    is_panic: false, message: trouble.message, meta: trouble.meta, error_code: "P1001",
  });
});

test("a record that is not there is P2025", async () => {
  const { ask } = await engineOn(() => undefined);
  for (const text of [
    python("updateOneUser", "mutation", { where: { id: "a" }, data: { name: "n" } }, "{ id }"),
    python("deleteOneUser", "mutation", { where: { id: "a" } }, "{ id }"),
    find.replace("findUniqueUser", "findUniqueUserOrThrow"),
  ]) {
    assert.equal((await ask(text)).errors[0].user_facing_error.error_code, "P2025");
  }
});

test("a field or value the schema has not is P2009, with the kind prisma-client-py looks for", async () => {
  const { ask } = await engineOn(() => undefined);
  const unknown = (await ask(create({ nope: 1 }))).errors[0].user_facing_error;
  assert.deepEqual([unknown.error_code, unknown.meta.kind], ["P2009", "Union"]);
  const bad = (await ask(create({ meta: new Json(null, "not json") }))).errors[0].user_facing_error;
  assert.deepEqual([bad.error_code, bad.meta.argumentPath], ["P2009", ["data", "meta"]]);
  assert.ok((await ask("nonsense")).errors[0].user_facing_error.message);
});

test("a batch is one transaction, and tells which query failed", async () => {
  let fail = false;
  const error = { kind: "Postgres", code: "23505", severity: "ERROR", message: "m", detail: "Key (id)=(a) already exists." };
  const { engine, seen, operations } = await engineOn((sql) => {
    if (fail && sql.startsWith("INSERT")) return { ok: false, error };
    return sql.startsWith("INSERT") ? table(["id"], [["a"]]) : undefined;
  });
  const update = python("updateManyUser", "mutation", { where: { id: "a" }, data: { age: 1 } }, "{ count }");
  const batch = [update, create({ id: "a" })].map((query) => ({ query, variables: {} }));
  const good = JSON.parse(await engine.request({ batch, transaction: true }));
  assert.deepEqual(good, { batchResult: [{ data: { result: { count: 1 } } }, { data: { result: { id: "a" } } }] });
  assert.deepEqual([seen.at(0).sql, seen.at(-1).sql], ["BEGIN", "COMMIT"]);
  fail = true;
  const bad = JSON.parse(await engine.request({ batch, transaction: true }));
  assert.equal(bad.errors[0].user_facing_error.batch_request_idx, 1);
  assert.equal(seen.at(-1).sql, "ROLLBACK");
  assert.equal(operations.total.count, 4);
  assert.equal(await engine.request({ batch: [] }), '{"batchResult":[]}');
});

test("an interactive transaction is begun, used, committed, and then unknown", async () => {
  const { engine, ask, seen } = await engineOn(() => table(["id"], [["a"]]));
  const { id } = await engine.startTransaction({ max_wait: 300, timeout: 300 });
  await ask(create({ id: "a" }), id);
  assert.deepEqual(await engine.commitTransaction(id), {});
  assert.deepEqual(seen.map(({ sql }) => sql.split(" ")[0]), ["BEGIN", "INSERT", "COMMIT"]);
  const late = (await ask(create({ id: "a" }), id)).errors[0];
  assert.match(late.error, /^Transaction already closed/);
  assert.equal(late.user_facing_error.error_code, "P2028");
});

test("a transaction that takes too long is rolled back", async () => {
  const { engine, ask, seen } = await engineOn(() => table(["id"], [["a"]]));
  const { id } = await engine.startTransaction({ max_wait: 300, timeout: 50 });
  await new Promise((resolve) => setTimeout(resolve, 150));
  assert.equal(seen.at(-1).sql, "ROLLBACK");
  assert.match((await ask(create({ id: "a" }), id)).errors[0].error, /^Transaction already closed/);
});

test("a transaction that cannot begin in time is refused, and not left open", async () => {
  const { engine, seen } = await engineOn(() => undefined, { begin: () => new Promise((resolve) => setTimeout(resolve, 100)) });
  const refused = await engine.startTransaction({ max_wait: 20, timeout: 300 });
  assert.equal(refused.error_code, "P2028");
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(seen.map(({ sql }) => sql), ["BEGIN", "ROLLBACK"]);
});

test("an id of another engine does not harm this one", async () => {
  const { engine, ask } = await engineOn(() => undefined);
  for (const id of ["", "nonsense", "c".repeat(25)]) {
    assert.equal((await engine.commitTransaction(id)).error_code, "P2028");
    assert.equal((await engine.rollbackTransaction(id)).error_code, "P2028");
    assert.equal((await ask(find, id)).errors[0].user_facing_error.error_code, "P2028");
  }
});

test("raw rows", async () => {
  const { ask } = await engineOn(() => table(["a"], [["x"], [null]]));
  const text = python("queryRaw", "mutation", { query: "SELECT $1", parameters: '["x"]' });
  assert.deepEqual((await ask(text)).data.result, [
    { a: { prisma__type: "string", prisma__value: "x" } },
    { a: { prisma__type: "null", prisma__value: null } },
  ]);
});
