import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const GLUE = "@prisma/client/runtime/query_engine_bg.postgresql.js";
const BINARY = "@prisma/client/runtime/query_engine_bg.postgresql.wasm";

/** Prisma's own query engine, compiled to WebAssembly and shipped inside npm's @prisma/client. */
export function loadQueryEngine() {
  const require = createRequire(import.meta.url);
  const glue = require(GLUE);
  const binary = readFileSync(require.resolve(BINARY));
  const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), { "./query_engine_bg.js": glue });
  glue.__wbg_set_wasm(instance.exports);
  return glue.QueryEngine;
}
