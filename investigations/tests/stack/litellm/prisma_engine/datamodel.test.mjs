import assert from "node:assert/strict";
import { test } from "node:test";
import { Datamodel, datasourceName, urlVariable } from "../prisma_engine/datamodel.mjs";
import { SCHEMA } from "./schema.mjs";

test("every Json field is known, and no other", () => {
  assert.deepEqual(new Datamodel(SCHEMA).jsonFields(), ["User.meta", "User.data", "User.history", "Team.options"]);
});

test("relations lead to their model", () => {
  const user = new Datamodel(SCHEMA).model("User");
  assert.equal(user.fields.get("team").model.name, "Team");
  assert.equal(user.fields.get("team").model.fields.get("users").model, user);
  assert.equal(user.fields.get("colour").model, null);
});

test("odd spacing does not hide a field", () => {
  const schema = "model   Odd{\r\n\tid String @id\r\n  a   Json?// note\r\n\tb Json[]@default([])\r\n  c Json@default(\"{}\")\r\n}\r\n";
  assert.deepEqual(new Datamodel(schema).jsonFields(), ["Odd.a", "Odd.b", "Odd.c"]);
});

test("the datasource names its variable", () => {
  assert.equal(urlVariable(SCHEMA), "LAB_DATABASE_URL");
  assert.equal(datasourceName(SCHEMA), "client");
  assert.equal(urlVariable("model A { id String @id }"), "DATABASE_URL");
});
