import { fork } from "node:child_process";
import { createServer } from "node:net";
import { whenParentDies } from "./processes.mjs";
import { Registry } from "./registry.mjs";

const HOST = "127.0.0.1";
const FAILED_START = 2;
const QUICK_DEATHS = 5;
const QUICK_MILLISECONDS = 10_000;
const KILL_AFTER_MILLISECONDS = 400;

/**
 * Keeps a worker behind the port. LiteLLM before 1.9x never restarts an engine that died, so the port
 * must outlive the process that serves it: while no worker is ready, connections wait here.
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
    await this.#open();
    this.#spawn(false);
  }

  async #open() {
    this.door = createServer({ pauseOnConnect: true }, (socket) => this.#admit(socket));
    for (let attempt = 1; ; attempt += 1) {
      try {
        await listen(this.door, this.port);
        return;
      } catch (error) {
        if (error.code !== "EADDRINUSE" || attempt === 20) this.#giveUp(`cannot listen on ${HOST}:${this.port} (${error.code})`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  }

  #admit(socket) {
    socket.on("error", () => {});
    if (this.ready) this.worker.send("socket", socket);
    else this.#waiting.push(socket);
  }

  #spawn(respawned) {
    this.ready = false;
    const place = { port: this.port, proxy: process.ppid, supervisor: process.pid, respawned };
    const env = { ...this.environment, EVENKEEL_ENGINE_WORKER: JSON.stringify(place) };
    const worker = fork(this.program, [], { env });
    this.worker = worker;
    worker.on("message", () => this.#handOver());
    worker.on("error", () => {});
    worker.on("exit", (code, signal) => this.#bury(worker.pid, code, signal));
  }

  /** From here on the worker accepts connections itself; this process only waits for its death. */
  #handOver() {
    this.ready = true;
    this.worker.send("listen", this.door, () => this.door.close());
    for (const socket of this.#waiting.splice(0)) this.worker.send("socket", socket);
  }

  async #bury(pid, code, signal) {
    this.registry.withdraw(pid);
    if (this.#stopping || code === 0 || code === FAILED_START) process.exit(code ?? 0);
    console.error(`query-engine: worker ${pid} died (${signal ?? `exit ${code}`}); starting another`);
    const now = Date.now();
    this.#deaths = [...this.#deaths.filter((death) => now - death < QUICK_MILLISECONDS), now];
    if (this.#deaths.length > QUICK_DEATHS) this.#giveUp(`${QUICK_DEATHS} workers died within ${QUICK_MILLISECONDS / 1000} s`);
    const wasReady = this.ready;
    this.#spawn(true);
    if (wasReady) await this.#open();
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
