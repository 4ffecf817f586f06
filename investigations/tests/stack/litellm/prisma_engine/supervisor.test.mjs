import assert from "node:assert/strict";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const SUPERVISOR = new URL("../prisma_engine/supervisor.mjs", import.meta.url);
const folder = mkdtempSync(join(tmpdir(), "engine-"));

// A worker without a database: it answers every request with its own pid.
const worker = join(folder, "worker.mjs");
writeFileSync(worker, `
import { createServer } from "node:http";
if (process.env.FAIL) process.exit(Number(process.env.FAIL));
const server = createServer((request, response) => {
  if (request.url === "/die") process.kill(process.pid, "SIGKILL");
  response.end(String(process.pid));
});
const take = (socket) => { server.emit("connection", socket); socket.resume(); };
process.on("message", (kind, handle) => kind === "listen" ? handle.on("connection", take) : take(handle));
process.on("SIGTERM", () => process.exit(0));
process.on("disconnect", () => process.exit(0));
setTimeout(() => process.send("ready"), 100);
`);
const supervisor = join(folder, "supervisor.mjs");
writeFileSync(supervisor, `
import { Supervisor } from ${JSON.stringify(SUPERVISOR.href)};
await new Supervisor({ port: Number(process.argv[2]), program: ${JSON.stringify(worker)}, environment: process.env }).run();
`);
// Stands for the proxy: starts a supervisor, tells its pid, and lives until it is killed.
const parent = join(folder, "parent.mjs");
writeFileSync(parent, `
import { spawn } from "node:child_process";
const child = spawn(process.execPath, [${JSON.stringify(supervisor)}, process.argv[2]], { stdio: "ignore" });
process.send(child.pid);
setInterval(() => {}, 1000);
`);

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

function start(port, environment = {}) {
  return spawn(process.execPath, [supervisor, port], { env: { ...process.env, ...environment }, stdio: ["ignore", "ignore", "pipe"] });
}

/** The pid of the worker that answered; waits for the port to be there, as prisma-client-py does. */
async function ask(port, path = "/") {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return Number(await (await fetch(`http://127.0.0.1:${port}${path}`)).text());
    } catch (error) {
      if (attempt === 100 || path !== "/") throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function alive(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1][0] !== "Z";
  } catch {
    return false;
  }
}

async function gone(pid, within) {
  const deadline = Date.now() + within;
  while (alive(pid) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  return !alive(pid);
}

test("a killed worker is replaced behind the same port", async () => {
  const port = await freePort();
  const process = start(port);
  const first = await ask(port);
  await assert.rejects(ask(port, "/die"));
  const second = await ask(port);
  assert.notEqual(first, second);
  process.kill("SIGTERM");
  assert.deepEqual(await once(process, "exit"), [0, null]);
  assert.ok(await gone(second, 1000));
});

test("a worker that fails to start ends the supervisor, with its exit code", async () => {
  const process = start(await freePort(), { FAIL: "2" });
  assert.deepEqual(await once(process, "exit"), [2, null]);
});

test("a port in use is one line on stderr", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const process = start(server.address().port);
  let text = "";
  process.stderr.on("data", (chunk) => (text += chunk));
  const [code] = await once(process, "exit");
  server.close();
  assert.equal(code, 1);
  assert.match(text, /^query-engine: cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\)\n$/);
});

test("nothing outlives a killed parent", async () => {
  const port = await freePort();
  const proxy = fork(parent, [port]);
  const [pid] = await once(proxy, "message");
  const workerPid = await ask(port);
  proxy.kill("SIGKILL");
  assert.ok(await gone(pid, 2000));
  assert.ok(await gone(workerPid, 2000));
});
