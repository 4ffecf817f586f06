import { EnginePanic, errorBody, errorEntry, repairFacingError, transactionTooLate, unknownTransaction } from "./errors.mjs";
import { translate } from "./graphql.mjs";
import { isData, renderData } from "./results.mjs";

const NO_TRACE = "{}";
const CACHED_QUERIES = 1000;
const LONGEST_CACHED = 4000;
const TRANSACTION_ID = /^[0-9a-z-]{25,64}$/;

/** Prisma's engine behind the dialect of prisma-client-py. */
export class Engine {
  #cache = new Map();
  #pending = new Set();

  constructor({ QueryEngine, schema, datamodel, adapter, operations, environment, onPanic, onErrors = () => {} }) {
    this.onPanic = onPanic;
    this.onErrors = onErrors;
    this.datamodel = datamodel;
    this.adapter = adapter;
    this.operations = operations;
    this.core = new QueryEngine(
      {
        datamodel: schema,
        logLevel: "error",
        logQueries: false,
        datasourceOverrides: {},
        env: environment,
        configDir: ".",
        ignoreEnvVarErrors: true,
        engineProtocol: "json",
      },
      () => {},
      adapter.bind(),
    );
  }

  async connect() {
    await this.#call("connect", NO_TRACE);
  }

  /** Answers the body of `POST /`, as text. */
  async request(body, transaction) {
    if (transaction !== undefined && !TRANSACTION_ID.test(transaction)) {
      return JSON.stringify({ errors: [errorEntry(unknownTransaction())] });
    }
    return Array.isArray(body.batch) ? this.#batch(body, transaction) : this.#single(body.query, transaction);
  }

  async #single(text, transaction) {
    let query = null;
    const started = performance.now();
    try {
      query = this.#translated(text);
      const answer = await this.#call("query", query.json, NO_TRACE, transaction);
      const ok = isData(answer);
      this.operations.record(query, performance.now() - started, ok);
      return ok ? renderData(answer, query.action) : this.#failed(text, this.#repair(JSON.parse(answer)));
    } catch (error) {
      if (query) this.operations.record(query, performance.now() - started, false);
      return this.#failed(text, errorBody(error, error.operation));
    }
  }

  #failed(query, answer) {
    this.onErrors(query, answer.errors);
    return JSON.stringify(answer);
  }

  async #batch(body, transaction) {
    let queries = [];
    const started = performance.now();
    const record = (ok) => {
      const each = (performance.now() - started) / queries.length;
      for (const query of queries) this.operations.record(query, each, ok);
    };
    try {
      queries = body.batch.map((item) => this.#translated(item.query));
      if (queries.length === 0) return '{"batchResult":[]}';
      const inOne = body.transaction ? ',"transaction":{}' : "";
      const json = `{"batch":[${queries.map((query) => query.json).join(",")}]${inOne}}`;
      const answer = JSON.parse(await this.#call("query", json, NO_TRACE, transaction));
      record(!answer.errors);
      if (answer.errors) return this.#failed(body.batch, this.#repair(answer));
      const results = answer.batchResult.map((result, index) => this.#batchResult(result, queries[index].action));
      return `{"batchResult":[${results.join(",")}]}`;
    } catch (error) {
      record(false);
      return this.#failed(body.batch, errorBody(error, error.operation));
    }
  }

  #batchResult(result, action) {
    const answer = JSON.stringify(result);
    return isData(answer) ? renderData(answer, action) : JSON.stringify(this.#repair(result));
  }

  /** `{id}`, or a facing error with `error_code`. */
  async startTransaction({ max_wait = 2000, timeout = 5000, isolation_level }) {
    const starting = this.#transaction("startTransaction", JSON.stringify({ max_wait, timeout, isolation_level }));
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, max_wait, null)));
    const answer = await Promise.race([starting, late]).finally(() => clearTimeout(timer));
    if (answer) return answer;
    // Prisma's engine forgets max_wait here; whatever it still begins must not keep a connection.
    starting.then(({ id }) => id && this.rollbackTransaction(id)).catch(() => {});
    return errorEntry(transactionTooLate(max_wait)).user_facing_error;
  }

  async commitTransaction(id) {
    return this.#endTransaction("commitTransaction", id);
  }

  async rollbackTransaction(id) {
    return this.#endTransaction("rollbackTransaction", id);
  }

  // The engine panics on an id it could not have made.
  async #endTransaction(step, id) {
    return TRANSACTION_ID.test(id) ? this.#transaction(step, id) : errorEntry(unknownTransaction()).user_facing_error;
  }

  /** Fails all that is under way: after a panic nothing else will settle it, and nothing more may be asked. */
  panicked({ message }) {
    const panic = new EnginePanic(`Prisma's engine panicked: ${message}`);
    for (const reject of this.#pending) reject(panic);
    this.#pending.clear();
    this.onPanic();
  }

  get busy() {
    return this.#pending.size;
  }

  async #transaction(step, ...given) {
    const answer = JSON.parse(await this.#call(step, ...given, NO_TRACE));
    return answer.error_code ? repairFacingError(answer, (id) => this.adapter.takeExternal(id)) : answer;
  }

  #call(method, ...given) {
    return new Promise((resolve, reject) => {
      const done = (settle) => (value) => {
        this.#pending.delete(reject);
        settle(value);
      };
      this.#pending.add(reject);
      try {
        this.core[method](...given).then(done(resolve), done(reject));
      } catch (error) {
        done(reject)(error);
        if (error instanceof WebAssembly.RuntimeError) this.panicked(error);
      }
    });
  }

  #repair(answer) {
    for (const entry of answer.errors) {
      const facing = repairFacingError(entry.user_facing_error, (id) => this.adapter.takeExternal(id));
      if (facing !== entry.user_facing_error) entry.error = facing.message;
      entry.user_facing_error = facing;
    }
    return answer;
  }

  #translated(text) {
    let query = this.#cache.get(text);
    if (query) return query;
    query = translate(text, this.datamodel);
    if (text.length <= LONGEST_CACHED) {
      if (this.#cache.size >= CACHED_QUERIES) this.#cache.clear();
      this.#cache.set(text, query);
    }
    return query;
  }
}
