import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDatabaseUrl } from "../prisma_engine/database-url.mjs";
import { StartError } from "../prisma_engine/errors.mjs";

test("what LiteLLM appends is honoured, the rest ignored", () => {
  const settings = parseDatabaseUrl("postgresql://u@db.example:6000/name?connection_limit=100&pool_timeout=60&nonsense=1");
  assert.deepEqual([settings.host, settings.port, settings.database, settings.poolSize, settings.poolTimeout], ["db.example", 6000, "name", 100, 60]);
});

test("passwords are decoded", () => {
  const password = "p@ss/w:rd?#% é";
  assert.equal(parseDatabaseUrl(`postgresql://u:${encodeURIComponent(password)}@h/d`).password, password);
  assert.equal(parseDatabaseUrl("postgresql://u:100%@h/d").password, "100%");
});

test("a socket folder, a schema, IPv6", () => {
  assert.equal(parseDatabaseUrl("postgresql://u@localhost/d?host=/var/run/postgresql").host, "/var/run/postgresql");
  assert.equal(parseDatabaseUrl("postgresql://u@h/d?schema=other").schema, "other");
  assert.equal(parseDatabaseUrl("postgres://u@[::1]:1/d").host, "::1");
});

test("defaults, and nonsense in place of numbers", () => {
  const settings = parseDatabaseUrl("postgresql://u@h/d?connection_limit=none&pool_timeout=-1");
  assert.equal(settings.port, 5432);
  assert.equal(settings.poolTimeout, 10);
  assert.ok(settings.poolSize >= 3);
  assert.equal(parseDatabaseUrl("postgresql://u@h/d?pool_timeout=0").poolTimeout, 0);
  assert.equal(parseDatabaseUrl("postgresql://u@h/d?pgbouncer=true").preparedStatements, 0);
  assert.equal(parseDatabaseUrl("postgresql://u@h/d?statement_cache_size=7").preparedStatements, 7);
});

test("TLS is asked for as Prisma does", () => {
  assert.equal(parseDatabaseUrl("postgresql://u@h/d").ssl, false);
  assert.equal(parseDatabaseUrl("postgresql://u@h/d?sslmode=require").ssl.rejectUnauthorized, false);
  assert.equal(parseDatabaseUrl("postgresql://u@h/d?sslmode=require&sslaccept=strict").ssl.rejectUnauthorized, true);
  assert.throws(() => parseDatabaseUrl("postgresql://u@h/d?sslmode=require&sslcert=/no/such"), StartError);
});

test("other databases and nonsense are refused without echoing a secret", () => {
  for (const url of ["mysql://u:secret@h/d", "u:secret@h/d", ""]) {
    assert.throws(() => parseDatabaseUrl(url), (error) => error instanceof StartError && !/secret/.test(error.message + error.cure));
  }
});
