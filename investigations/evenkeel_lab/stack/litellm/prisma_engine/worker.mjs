import { readFileSync } from "node:fs";
import { Adapter } from "./adapter.mjs";
import { Connections } from "./connections.mjs";
import { parseDatabaseUrl } from "./database-url.mjs";
import { Datamodel, datasourceName, urlVariable } from "./datamodel.mjs";
import { Engine } from "./engine.mjs";
import { errorLog } from "./error-log.mjs";
import { StartError } from "./errors.mjs";
import { Operations } from "./operations.mjs";
import { whenUnneeded } from "./processes.mjs";
import { Registry } from "./registry.mjs";
import { httpServer } from "./server.mjs";
import { loadQueryEngine } from "./wasm.mjs";

const GRACE_MILLISECONDS = 250;
const CRASHED = 70;

/** The process that owns the database connections and answers queries, on sockets its supervisor hands over. */
export async function work({ port, proxy, supervisor, respawned, environment }) {
  const registry = new Registry(environment.EVENKEEL_ENGINE_REGISTRY);
  const crash = (error) => {
    console.error(`query-engine: ${error.message ?? error}; starting anew`);
    registry.withdraw(process.pid);
    setTimeout(() => process.exit(CRASHED), 20); // time for the answers that say so
  };
  const parts = await build(environment, () => crash(new Error("Prisma's engine panicked")));
  process.on("uncaughtException", (error) =>
    error instanceof WebAssembly.RuntimeError ? parts.engine.panicked(error) : crash(error),
  );
  // A worker that replaces a killed one may come up before its database does.
  if (!respawned) await parts.connections.check();
  const server = httpServer(parts);
  const stop = stopper(server, parts, registry);
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("disconnect", () => whenUnneeded(proxy, stop));
  takeSockets(server);
  registry.announce({ pid: process.pid, port, ppid: proxy, supervisor, started: new Date().toISOString() });
  process.send("ready");
}

async function build(environment, onPanic) {
  const schema = readSchema(environment.PRISMA_DML_PATH);
  const connections = new Connections(parseDatabaseUrl(databaseUrl(schema, environment)));
  const adapter = new Adapter(connections);
  const operations = new Operations();
  const datamodel = new Datamodel(schema);
  const QueryEngine = loadQueryEngine();
  const onErrors = errorLog(environment.EVENKEEL_ENGINE_ERRORS);
  const engine = new Engine({ QueryEngine, schema, datamodel, adapter, operations, environment, onPanic, onErrors });
  await engine.connect();
  return { engine, operations, connections, adapter };
}

function readSchema(path) {
  if (!path) throw new StartError("PRISMA_DML_PATH is not set", "it must name the schema.prisma of the client");
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new StartError(`cannot read ${path} (${error.code})`, 'run "prisma generate" or mend PRISMA_DML_PATH');
  }
}

function databaseUrl(schema, environment) {
  const name = datasourceName(schema);
  const overrides = environment.OVERWRITE_DATASOURCES ? JSON.parse(environment.OVERWRITE_DATASOURCES) : [];
  const override = overrides.find((each) => each.name === name)?.url;
  const variable = urlVariable(schema);
  const url = override ?? environment[variable];
  if (!url) throw new StartError(`${variable} is not set`, 'set it to "postgresql://user:password@host:5432/name"');
  return url;
}

function takeSockets(server) {
  const take = (socket) => {
    server.emit("connection", socket);
    socket.resume();
  };
  process.on("message", (kind, handle) => {
    if (kind === "listen") handle.on("connection", take);
    else if (handle) take(handle);
  });
}

function stopper(server, { engine, connections }, registry) {
  let stopping = false;
  return async () => {
    if (stopping) return;
    stopping = true;
    registry.withdraw(process.pid);
    const deadline = Date.now() + GRACE_MILLISECONDS;
    while (engine.busy > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
    server.closeAllConnections?.();
    await Promise.race([connections.close(), new Promise((resolve) => setTimeout(resolve, 100))]);
    process.exit(0);
  };
}
