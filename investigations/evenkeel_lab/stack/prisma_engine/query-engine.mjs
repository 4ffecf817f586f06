import { fileURLToPath } from "node:url";

// The commit of the engine inside @prisma/client 5.17.0.
const VERSION = "query-engine 393aa359c9ad4a4bb28630fb5613f9c281cde053";

process.title = "query-engine";
const { EVENKEEL_ENGINE_WORKER: place, ...environment } = process.env;

if (process.argv.includes("--version") || process.argv.includes("-V")) {
  console.log(VERSION);
} else if (place) {
  const { work } = await import("./worker.mjs");
  await work({ ...JSON.parse(place), environment });
} else {
  const { Supervisor } = await import("./supervisor.mjs");
  await new Supervisor({ port: portFrom(process.argv), program: fileURLToPath(import.meta.url), environment }).run();
}

function portFrom(args) {
  const flag = args.findIndex((argument) => argument === "-p" || argument === "--port");
  const port = Number(args[flag + 1]);
  if (flag !== -1 && port > 0 && port < 65536) return port;
  console.error("query-engine: which port? start it with -p PORT (prisma-client-py does)");
  process.exit(2);
}
