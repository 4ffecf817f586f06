import { readFileSync, readdirSync } from "node:fs";

const POLL_MILLISECONDS = 500;
const PROGRAM = "query-engine";

/** Calls back once when the parent of this process is gone: an engine must not outlive its proxy. */
export function whenParentDies(callback) {
  const parent = process.ppid;
  return poll(() => process.ppid !== parent, callback);
}

/**
 * For a worker whose supervisor was killed: calls back once the proxy is gone or has started another
 * engine. Without /proc neither can be known, so that is at once.
 */
export function whenUnneeded(proxy, callback) {
  return poll(() => !isRunning(proxy) || hasOtherEngine(proxy), callback);
}

function poll(condition, callback) {
  const timer = setInterval(() => {
    if (!condition()) return;
    clearInterval(timer);
    callback();
  }, POLL_MILLISECONDS);
  return timer;
}

function isRunning(pid) {
  return !["", "Z", "X"].includes(stat(pid).state);
}

function hasOtherEngine(proxy) {
  return readdirSync("/proc").some((pid) => /^\d+$/.test(pid) && stat(pid).parent === proxy && isEngine(pid));
}

function isEngine(pid) {
  return Number(pid) !== process.pid && read(`/proc/${pid}/cmdline`).includes(PROGRAM);
}

function stat(pid) {
  const text = read(`/proc/${pid}/stat`);
  const [state = "", parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state, parent: Number(parent) };
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
