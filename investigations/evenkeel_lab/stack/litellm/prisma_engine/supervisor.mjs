import { fork } from "node:child_process";
import { createServer } from "node:net";
import { FAILED_START } from "./errors.mjs";
import { whenParentDies } from "./processes.mjs";
import { Registry } from "./registry.mjs";

const HOST = "127.0.0.1";
const QUICK_DEATHS = 5;
const QUICK_MILLISECONDS = 10_000;
const KILL_AFTER_MILLISECONDS = 400;

/**
 * Keeps a worker behind the port. LiteLLM 1.81 never restarts an engine that died, so the port must
 * outlive the process that serves it. Supervisor and worker share the listening socket: a connection
 * that arrives here goes on to the worker, and waits while there is none.
 */
export class Supervisor {
  #waiting = [];
  #deaths = [];
  #stopping = false;

  constructor({ port, program, environment }) {
    this.port = port;
    this.program = program;
    this.environment = environment;
    this.registry = new Registry(environment.EVENKEEL_ENGINE_REGISTRY);
  }

  async run() {
    whenParentDies(() => this.#stop());
    process.on("SIGTERM", () => this.#stop());
    process.on("SIGINT", () => this.#stop());
    this.door = createServer({ pauseOnConnect: true }, (socket) => this.#admit(socket));
    await listen(this.door, this.port).catch(({ code }) => this.#giveUp(`cannot listen on ${HOST}:${this.port} (${code})`));
    this.#spawn(false);
  }

  #admit(socket) {
    socket.on("error", () => {});
    if (this.ready) this.#pass(socket);
    else this.#waiting.push(socket);
  }

  #spawn(respawned) {
    this.ready = false;
    const place = { port: this.port, proxy: process.ppid, supervisor: process.pid, respawned };
    const env = { ...this.environment, EVENKEEL_ENGINE_WORKER: JSON.stringify(place) };
    const worker = fork(this.program, [], { env });
    this.worker = worker;
    worker.on("message", () => this.#handOver());
    worker.on("error", (error) => worker.pid === undefined && this.#giveUp(`cannot start a worker (${error.message})`));
    worker.on("exit", (code, signal) => this.#bury(worker.pid, code, signal));
  }

  #handOver() {
    this.ready = true;
    this.served = true;
    this.worker.send("listen", this.door);
    for (const socket of this.#waiting.splice(0)) this.#pass(socket);
  }

  #pass(socket) {
    this.worker.send("socket", socket, {}, (failure) => failure && this.#waiting.push(socket));
  }

  #bury(pid, code, signal) {
    this.registry.withdraw(pid);
    if (this.#stopping || code === FAILED_START) process.exit(code ?? 0);
    if (!this.served && code !== null) this.#giveUp(`worker ${pid} could not start (exit ${code})`);
    console.error(`query-engine: worker ${pid} died (${signal ?? `exit ${code}`}); starting another`);
    const now = Date.now();
    this.#deaths = [...this.#deaths.filter((death) => now - death < QUICK_MILLISECONDS), now];
    if (this.#deaths.length > QUICK_DEATHS) this.#giveUp(`${QUICK_DEATHS} workers died within ${QUICK_MILLISECONDS / 1000} s`);
    this.#spawn(true);
  }

  #stop() {
    if (this.#stopping) return;
    this.#stopping = true;
    this.worker?.kill("SIGTERM");
    setTimeout(() => {
      this.worker?.kill("SIGKILL");
      process.exit(0);
    }, KILL_AFTER_MILLISECONDS);
  }

  #giveUp(reason) {
    console.error(`query-engine: ${reason}`);
    this.worker?.kill("SIGKILL");
    process.exit(1);
  }
}

function listen(server, port) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: HOST }, resolve);
  });
}
