import assert from "node:assert/strict";
import { test } from "node:test";
import { Datamodel } from "../prisma_engine/datamodel.mjs";
import { QueryTextError } from "../prisma_engine/errors.mjs";
import { translate } from "../prisma_engine/graphql.mjs";
import { Json, SCHEMA, python, randomFrom, randomJson, randomText } from "./schema.mjs";

const datamodel = new Datamodel(SCHEMA);
const query = (...given) => JSON.parse(translate(python(...given), datamodel).json);
const json = (value) => ({ $type: "Json", value: JSON.stringify(value) });

test("a find becomes model, action, arguments and selection", () => {
  const found = query("findUniqueUser", "query", { where: { id: "a" } }, "{\n id\n team {\n  id\n options\n }\n}");
  assert.deepEqual(found, {
    modelName: "User",
    action: "findUnique",
    query: {
      arguments: { where: { id: "a" } },
      selection: { id: true, team: { arguments: {}, selection: { id: true, options: true } } },
    },
  });
});

test("the OrThrow operations keep their suffix in the action", () => {
  assert.equal(query("findFirstUserOrThrow", "query", { where: {} }, "{ id }").action, "findFirstOrThrow");
  assert.equal(query("findUniqueTeamOrThrow", "query", { where: { id: "1" } }, "{ id }").modelName, "Team");
});

test("an included relation may have arguments of its own", () => {
  const text = `query { result: findManyTeam { id users(take: 2 where: {meta: {equals: "[1]"}}) { id } } }`;
  const { selection } = JSON.parse(translate(text, datamodel).json).query;
  assert.deepEqual(selection.users.arguments, { take: 2, where: { meta: { equals: json([1]) } } });
});

test("numbers keep every digit", () => {
  const text = "mutation { result: createOneUser ( data: { big: 9223372036854775807, score: 0.30000000000000004 age: -0 } ) { id } }";
  const { json: translated } = translate(text, datamodel);
  assert.match(translated, /"big":9223372036854775807,"score":0.30000000000000004,"age":-0/);
});

test("strings are carried over unread", () => {
  const nasty = 'a "q" \\ \n \u2028 }]) result: { } $1 # é 😀';
  assert.equal(query("createOneUser", "mutation", { data: { name: nasty } }, "{ id }").query.arguments.data.name, nasty);
});

test("words that are no JSON literal become strings, so that the engine can complain", () => {
  const text = "mutation { result: createOneUser ( data: { score: NaN colour: RED active: true name: null } ) { id } }";
  assert.deepEqual(JSON.parse(translate(text, datamodel).json).query.arguments.data, {
    score: "NaN", colour: "RED", active: true, name: null,
  });
});

test("text in a Json field is tagged, whatever the JSON is", () => {
  for (const value of [{ a: [1, null] }, "text", "", 5, null, [], true, { $type: "Json" }]) {
    const { data } = query("createOneUser", "mutation", { data: { meta: new Json(value), name: "n" } }, "{ id }").query.arguments;
    assert.deepEqual(data, { meta: json(value), name: "n" });
  }
});

test("lists of Json are tagged one by one", () => {
  const { data } = query("createOneUser", "mutation", { data: { history: { set: [new Json({ a: 1 }), new Json("x")] } } }, "{ id }")
    .query.arguments;
  assert.deepEqual(data.history.set, [json({ a: 1 }), json("x")]);
});

test("Json is found through relations and their operations", () => {
  const options = new Json({ x: 1 });
  const given = {
    where: { id: "u" },
    create: { id: "u", meta: options, team: { connectOrCreate: { where: { id: "t" }, create: { id: "t", options } } } },
    update: { data: options, team: { upsert: { create: { id: "t", options }, update: { options } } } },
  };
  const { create, update } = query("upsertOneUser", "mutation", given, "{ id }").query.arguments;
  assert.deepEqual(create.meta, json({ x: 1 }));
  assert.deepEqual(create.team.connectOrCreate.create.options, json({ x: 1 }));
  assert.deepEqual(update.data, json({ x: 1 }));
  assert.deepEqual(update.team.upsert.update.options, json({ x: 1 }));
});

test("an operation's data and a Json field called data are told apart", () => {
  const meta = new Json([1]);
  const given = { where: { id: "t" }, data: { users: { update: [{ where: { id: "u" }, data: { data: meta, name: "n" } }] } } };
  const [update] = query("updateOneTeam", "mutation", given, "{ id }").query.arguments.data.users.update;
  assert.deepEqual(update, { where: { id: "u" }, data: { data: json([1]), name: "n" } });
});

test("in filters only the JSON operands are tagged", () => {
  const where = { AND: [{ meta: { path: ["a", "b"], equals: new Json(1), string_contains: "x" } }, { NOT: { meta: { not: new Json(null) } } }] };
  assert.deepEqual(query("findManyUser", "query", { where }, "{ id }").query.arguments.where, {
    AND: [{ meta: { path: ["a", "b"], equals: json(1), string_contains: "x" } }, { NOT: { meta: { not: json(null) } } }],
  });
  const related = query("findManyTeam", "query", { where: { users: { some: { meta: { equals: new Json({}) } } } } }, "{ id }");
  assert.deepEqual(related.query.arguments.where.users.some.meta.equals, json({}));
});

test("compound keys keep the model's fields", () => {
  const given = { where: { name_age: { name: "n", age: 3 } } };
  assert.deepEqual(query("findUniqueUser", "query", given, "{ id }").query.arguments, given);
});

test("counts, groups and raw SQL", () => {
  assert.deepEqual(query("aggregateUser", "query", { where: {} }, "{ _count { _all } }").query.selection, {
    _count: { arguments: {}, selection: { _all: true } },
  });
  const grouped = query("groupByUser", "query", { by: ["name"], having: { age: { _sum: { gt: 1 } } } }, "{ name _sum { age } }");
  assert.deepEqual(grouped.query.arguments.by, ["name"]);
  const raw = translate('mutation {\n result: queryRaw\n (\n query: "SELECT \\"a\\" = $1"\n parameters: "[\\"x\\", 9007199254740993]"\n )\n}', datamodel);
  assert.deepEqual([raw.model, raw.action], [null, "queryRaw"]);
  assert.equal(JSON.parse(raw.json).query.arguments.parameters, '["x", 9007199254740993]');
});

test("what would make the engine panic is refused, and says where", () => {
  const deep = `${"[".repeat(128)}${"]".repeat(128)}`;
  for (const text of ["not json", "", '{"a": NaN}', '{"a": 1e999}', '"\\ud800"', '{"\\udc00": 1}', deep]) {
    const bad = { data: { team: { create: { id: "t", options: new Json(null, text) } } } };
    assert.throws(
      () => query("createOneUser", "mutation", bad, "{ id }"),
      (error) => error instanceof QueryTextError && error.operation === "createOneUser" && error.path.join(".") === "data.team.create.options",
    );
  }
  const deepest = `${"[".repeat(127)}${"]".repeat(127)}`;
  for (const text of [deepest, '"\\ud83d\\ude00"', '"\\\\ud800"', "1e308"]) {
    query("createOneUser", "mutation", { data: { meta: new Json(null, text) } }, "{ id }");
  }
});

test("a Json field takes Json only, as with the native engine", () => {
  assert.throws(() => query("createOneUser", "mutation", { data: { meta: null } }, "{ id }"), /A value is required but not set/);
  assert.throws(() => query("createOneUser", "mutation", { data: { meta: 5 } }, "{ id }"), QueryTextError);
  assert.throws(() => query("findManyUser", "query", { where: { meta: { not: null } } }, "{ id }"), /A value is required but not set/);
});

test("text that is no query is an error, not an endless loop", () => {
  const broken = ["", "query", "query {", "query { result: findManyNobody { id } }", "query { result: findManyUser ( where: { id: \"a } )", "query { result: findManyUser ( where )", "{ } {", "query { result: findManyUser { id"];
  for (const text of broken) assert.throws(() => translate(text, datamodel), QueryTextError, text);
});

test("whatever JSON and text go in come out the same", () => {
  for (let seed = 1; seed <= 400; seed += 1) {
    const random = randomFrom(seed);
    const meta = randomJson(random);
    const name = randomText(random);
    const { data } = query("createOneUser", "mutation", { data: { name, meta: new Json(meta), tags: [name, name] } }, "{ id }")
      .query.arguments;
    assert.deepEqual(data, { name, meta: json(meta), tags: [name, name] }, `seed ${seed}`);
  }
});
