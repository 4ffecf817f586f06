import { fileURLToPath } from "node:url";
import { StartError, exitWith } from "./errors.mjs";

// The commit of the engine inside @prisma/client 5.17.0.
const VERSION = "query-engine 393aa359c9ad4a4bb28630fb5613f9c281cde053";

process.title = "query-engine";
const { EVENKEEL_ENGINE_WORKER: place, ...environment } = process.env;

try {
  await main(process.argv.slice(2));
} catch (error) {
  exitWith(error);
}

/** The first process supervises; the second, which it forks, does the work. */
async function main(args) {
  if (args.includes("--version") || args.includes("-V")) {
    console.log(VERSION);
  } else if (place) {
    const { work } = await import("./worker.mjs");
    await work({ ...JSON.parse(place), environment });
  } else {
    const port = portFrom(args);
    const { Supervisor } = await import("./supervisor.mjs");
    await new Supervisor({ port, program: fileURLToPath(import.meta.url), environment }).run();
  }
}

function portFrom(args) {
  const flag = args.findIndex((argument) => argument === "-p" || argument === "--port");
  const port = Number(args[flag + 1]);
  if (flag !== -1 && port > 0 && port < 65536) return port;
  throw new StartError("which port?", "start it with -p PORT, as prisma-client-py does");
}
