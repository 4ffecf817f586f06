import pg from "pg";
import { columnType } from "./columns.mjs";
import { connectionLost, isFatal } from "./connections.mjs";

const PROVIDER = { provider: "postgres", adapterName: "evenkeel-pg" };
const STALE_PLAN = "0A000";

/** The database as Prisma's engine wants to see it: run this SQL, begin a transaction. */
export class Adapter {
  #external = new Map();
  #lastExternal = 0;

  constructor(connections) {
    this.connections = connections;
    this.statements = new StatementNames(connections.settings.preparedStatements);
    this.count = 0;
  }

  /** The object handed to the engine. Its functions never throw: they answer {ok, value} or {ok, error}. */
  bind() {
    return {
      ...PROVIDER,
      ...this.#queryable(() => this.#once()),
      startTransaction: () => this.#answer(() => this.#begin()),
      getConnectionInfo: () => ({ ok: true, value: { schemaName: this.connections.settings.schema } }),
    };
  }

  /** What lies behind "error in external connector", once. */
  takeExternal(id) {
    const error = this.#external.get(id);
    this.#external.delete(id);
    return error;
  }

  async #once() {
    const client = await this.connections.lend();
    return { client, finish: (failure) => client.release(failure) };
  }

  async #begin() {
    const client = await this.connections.lend();
    let open = true;
    const close = (failure) => {
      if (open) client.release(failure);
      open = false;
    };
    const finish = (failure) => failure && close(failure);
    const end = () => this.#answer(() => close());
    return {
      ...PROVIDER,
      ...this.#queryable(() => ({ client, finish })),
      options: { usePhantomQuery: false }, // the engine says BEGIN and COMMIT itself
      commit: end,
      rollback: end,
    };
  }

  #queryable(lend) {
    const run = (query, shape) => this.#answer(async () => shape(await this.#run(query, await lend())));
    return {
      queryRaw: (query) => run(query, asTable),
      executeRaw: (query) => run(query, ({ rowCount }) => rowCount ?? 0),
    };
  }

  async #run({ sql, args }, { client, finish }) {
    this.count += 1;
    const name = args.length === 0 ? undefined : this.statements.nameOf(sql);
    let failure;
    try {
      const result = await client.query({ text: sql, values: args, name, rowMode: "array" });
      return Array.isArray(result) ? result.at(-1) : result;
    } catch (error) {
      if (isFatal(error)) failure = error;
      if (error.code === STALE_PLAN) this.statements.forget(sql);
      throw failure && !(error instanceof pg.DatabaseError) ? connectionLost(error) : error;
    } finally {
      finish(failure);
    }
  }

  async #answer(work) {
    try {
      return { ok: true, value: await work() };
    } catch (error) {
      return { ok: false, error: this.#describe(error) };
    }
  }

  #describe(error) {
    if (error instanceof pg.DatabaseError) {
      const { code, severity, message, detail, column, hint } = error;
      return { kind: "Postgres", code, severity, message, detail, column, hint };
    }
    this.#lastExternal = (this.#lastExternal + 1) % 2 ** 31;
    this.#external.set(this.#lastExternal, error);
    return { kind: "GenericJs", id: this.#lastExternal };
  }
}

function asTable({ fields, rows }) {
  return {
    columnNames: fields.map((field) => field.name),
    columnTypes: fields.map((field) => columnType(field.dataTypeID)),
    rows,
  };
}

/**
 * Names for prepared statements. SQL seen once stays unnamed: Postgres keeps a named one for the life
 * of the connection, and raw SQL with values written into it would fill its memory.
 */
class StatementNames {
  #names = new Map();
  #seen = new Set();
  #serial = 0;

  constructor(limit) {
    this.limit = limit;
  }

  nameOf(sql) {
    const name = this.#names.get(sql);
    if (name || this.#names.size >= this.limit) return name;
    if (this.#seen.has(sql)) {
      this.#seen.delete(sql);
      return this.#remember(sql);
    }
    if (this.#seen.size > 2 * this.limit) this.#seen.clear();
    this.#seen.add(sql);
    return undefined;
  }

  /** The table changed under the statement: prepare it anew, under a new name. */
  forget(sql) {
    this.#names.delete(sql);
  }

  #remember(sql) {
    this.#serial += 1;
    const name = `evenkeel_${this.#serial}`;
    this.#names.set(sql, name);
    return name;
  }
}
