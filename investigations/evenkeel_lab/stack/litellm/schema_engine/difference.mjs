// node difference.mjs BEFORE.prisma AFTER.prisma SQL: writes the SQL that turns the one schema into the other.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import * as glue from "@prisma/schema-engine-wasm/schema_engine_bg";

const BOOLEAN = 5;
const TEXT = 7;
const INT32 = 0;

/** Prisma's own schema engine, compiled to WebAssembly and shipped inside npm's @prisma/schema-engine-wasm. */
function loadSchemaEngine() {
  const require = createRequire(import.meta.url);
  const code = pathToFileURL(require.resolve("@prisma/schema-engine-wasm/schema_engine_bg"));
  const binary = readFileSync(new URL("schema_engine_bg.wasm", code));
  const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), { "./schema_engine_bg.js": glue });
  glue.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return glue.SchemaEngine;
}

/** No database: two files are compared. The engine asks one question when it starts, which version it speaks to. */
function noDatabase() {
  const version = {
    columnNames: ["exists", "version", "numeric_version"],
    columnTypes: [BOOLEAN, TEXT, INT32],
    rows: [[true, "PostgreSQL 16.0", 160000]],
  };
  const nothing = () => Promise.reject(new Error("there is no database"));
  const connection = {
    provider: "postgres",
    adapterName: "evenkeel-none",
    queryRaw: async ({ sql }) => (sql.includes("version()") ? { ok: true, value: version } : nothing()),
    executeRaw: nothing,
    executeScript: nothing,
    startTransaction: nothing,
    dispose: async () => ({ ok: true }),
    getConnectionInfo: () => ({ ok: true, value: { supportsRelationJoins: false } }),
  };
  const connect = async () => ({ ok: true, value: connection });
  return { provider: "postgres", adapterName: "evenkeel-none", connect, connectToShadowDb: nothing };
}

const schema = (path) => ({ tag: "schemaDatamodel", files: [{ path, content: readFileSync(path, "utf8") }] });

async function difference(before, after) {
  const engine = await loadSchemaEngine().new({ datamodels: undefined }, () => {}, noDatabase());
  const { stdout } = await engine.diff({
    from: schema(before),
    to: schema(after),
    shadowDatabaseUrl: null,
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  return stdout;
}

const [before, after, sql] = process.argv.slice(2);
try {
  writeFileSync(sql, await difference(before, after));
} catch (error) {
  process.stderr.write(`${error.message}\n`); // says where in which file; the stack would only be WebAssembly's
  process.exitCode = 1;
}
