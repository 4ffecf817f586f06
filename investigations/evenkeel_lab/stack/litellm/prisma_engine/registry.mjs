import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where a lab finds the engines that run: one `<pid>.json` for each, in a folder it names. */
export class Registry {
  constructor(folder) {
    this.folder = folder;
  }

  announce(entry) {
    if (!this.folder) return;
    mkdirSync(this.folder, { recursive: true });
    const unfinished = join(this.folder, `.${entry.pid}.partial`);
    writeFileSync(unfinished, `${JSON.stringify(entry)}\n`);
    renameSync(unfinished, this.#path(entry.pid));
  }

  withdraw(pid) {
    if (this.folder) rmSync(this.#path(pid), { force: true });
  }

  #path(pid) {
    return join(this.folder, `${pid}.json`);
  }
}
