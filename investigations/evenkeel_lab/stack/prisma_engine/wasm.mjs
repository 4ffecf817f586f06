import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { StartError } from "./errors.mjs";

const GLUE = "@prisma/client/runtime/query_engine_bg.postgresql.js";
const BINARY = "@prisma/client/runtime/query_engine_bg.postgresql.wasm";

/** Prisma's own query engine, compiled to WebAssembly and shipped inside npm's @prisma/client. */
export function loadQueryEngine() {
  const require = createRequire(import.meta.url);
  let glue;
  let binary;
  try {
    glue = require(GLUE);
    binary = readFileSync(require.resolve(BINARY));
  } catch (error) {
    throw new StartError(
      `cannot load Prisma's engine (${error.code ?? error.message})`,
      `run "npm ci --ignore-scripts" in ${import.meta.dirname ?? new URL(".", import.meta.url).pathname}`,
    );
  }
  const instance = new WebAssembly.Instance(new WebAssembly.Module(binary), { "./query_engine_bg.js": glue });
  glue.__wbg_set_wasm(instance.exports);
  return glue.QueryEngine;
}
