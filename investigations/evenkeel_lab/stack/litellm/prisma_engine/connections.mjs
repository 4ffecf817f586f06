import pg from "pg";
import { parsers } from "./columns.mjs";
import { addressOf } from "./database-url.mjs";
import { ConnectionTrouble } from "./errors.mjs";

const POOL_EXHAUSTED = "timeout exceeded when trying to connect";
const STARTING_UP = "57P03";

/** The pool of connections to Postgres. Lends them out, and explains in Prisma's words why it cannot. */
export class Connections {
  constructor(settings) {
    this.settings = settings;
    this.opened = 0;
    this.closed = 0;
    this.pool = new pg.Pool({ ...poolOptions(settings), Client: clientClass(settings) });
    this.pool.on("connect", (client) => {
      this.opened += 1;
      // A lent-out client whose server goes away must not take this process along.
      client.on("error", () => {});
    });
    this.pool.on("remove", () => (this.closed += 1));
    this.pool.on("error", () => {});
  }

  async lend() {
    try {
      return await this.pool.connect();
    } catch (error) {
      throw explain(error, this.settings);
    }
  }

  /** Fails with the reason if Postgres cannot be used; waits for one that is still starting. */
  async check() {
    const deadline = Date.now() + this.settings.connectTimeout * 1000;
    for (;;) {
      try {
        (await this.pool.connect()).release();
        return;
      } catch (error) {
        if (error.code !== STARTING_UP || Date.now() > deadline) throw explain(error, this.settings);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  gauges() {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { open: totalCount, idle: idleCount, busy: totalCount - idleCount, waiting: waitingCount };
  }

  async close() {
    await this.pool.end();
  }
}

/** Whether the connection that produced this error can go back to the pool. */
export function isFatal(error) {
  return !(error instanceof pg.DatabaseError) || error.severity === "FATAL" || error.severity === "PANIC";
}

export function connectionLost(error) {
  return new ConnectionTrouble("P1017", `Server has closed the connection. (${error.message})`, {});
}

function poolOptions(settings) {
  return {
    host: settings.host,
    port: settings.port,
    user: settings.user,
    password: settings.password,
    database: settings.database,
    ssl: settings.ssl,
    application_name: settings.applicationName,
    options: startupOptions(settings),
    max: settings.poolSize,
    connectionTimeoutMillis: settings.poolTimeout * 1000,
    idleTimeoutMillis: settings.idleTimeout * 1000,
    maxLifetimeSeconds: settings.lifetime,
    keepAlive: true,
    types: parsers,
  };
}

// The pool has one timeout for "no connection is free" and "no connection can be made"; Prisma has two.
function clientClass({ connectTimeout }) {
  return class extends pg.Client {
    constructor(options) {
      super({ ...options, password: options.password, connectionTimeoutMillis: connectTimeout * 1000 });
    }
  };
}

function startupOptions({ options, schema }) {
  const searchPath = schema && `-c search_path="${schema.replace(/[\\ ]/g, "\\$&")}"`;
  return [options, searchPath].filter(Boolean).join(" ") || undefined;
}

function explain(error, settings) {
  const { host, port, user, database, poolSize, poolTimeout } = settings;
  const address = addressOf(settings);
  if (error.message === POOL_EXHAUSTED) {
    return new ConnectionTrouble(
      "P2024",
      `Timed out fetching a new connection from the connection pool ` +
        `(connection pool timeout: ${poolTimeout}, connection limit: ${poolSize})`,
      { connection_limit: poolSize, timeout: poolTimeout },
    );
  }
  switch (error.code) {
    case "28000":
    case "28P01":
      return new ConnectionTrouble("P1000", `Authentication failed at \`${address}\` for \`${user}\`: ${error.message}`, {
        database_host: host,
        database_user: user,
      });
    case "3D000":
      return new ConnectionTrouble("P1003", `Database \`${database}\` does not exist at \`${address}\``, {
        database_name: database,
      });
    case "53300":
      return new ConnectionTrouble("P2037", `Too many database connections opened: ${error.message}`, {
        message: error.message,
        code: error.code,
      });
    default:
      return new ConnectionTrouble("P1001", `Can't reach database server at \`${address}\` (${reason(error)})`, {
        database_host: host,
        database_port: port,
      });
  }
}

function reason(error) {
  return error.code && !error.message.includes(error.code) ? `${error.code} ${error.message}`.trim() : error.message;
}
