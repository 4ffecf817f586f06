import { readFileSync } from "node:fs";
import os from "node:os";
import { StartError } from "./errors.mjs";

const CURE = 'set DATABASE_URL to "postgresql://user:password@127.0.0.1:5432/name"';

/** The settings in a Prisma connection URL; parameters nobody knows are ignored, as Prisma does. */
export function parseDatabaseUrl(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    throw new StartError("the database URL cannot be read", CURE);
  }
  if (!["postgres:", "postgresql:"].includes(url.protocol)) {
    throw new StartError(`the database URL starts with ${url.protocol}//, not with postgresql://`, CURE);
  }
  const given = url.searchParams;
  const host = given.get("host") || bareHost(url.hostname) || "localhost";
  return {
    host,
    port: Number(url.port || 5432),
    user: decode(url.username) || undefined,
    password: decode(url.password) || undefined,
    database: decode(url.pathname.slice(1)) || "postgres",
    schema: given.get("schema") || undefined,
    options: given.get("options") || undefined,
    applicationName: given.get("application_name") || undefined,
    ssl: sslOptions(given),
    poolSize: wholeNumber(given, "connection_limit", defaultPoolSize()),
    poolTimeout: seconds(given, "pool_timeout", 10),
    connectTimeout: seconds(given, "connect_timeout", 5),
    idleTimeout: seconds(given, "max_idle_connection_lifetime", 300),
    lifetime: seconds(given, "max_connection_lifetime", 0),
    preparedStatements: given.get("pgbouncer") === "true" ? 0 : wholeNumber(given, "statement_cache_size", 500, 0),
  };
}

/** Whom a failure to connect is about, without any secret. */
export function addressOf({ host, port }) {
  return `${host}:${port}`;
}

function bareHost(hostname) {
  return decode(hostname.replace(/^\[|\]$/g, ""));
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % in a password is not worth a refusal
  }
}

function defaultPoolSize() {
  return (os.availableParallelism?.() ?? os.cpus().length) * 2 + 1;
}

function wholeNumber(given, name, fallback, least = 1) {
  const value = Number.parseInt(given.get(name) ?? "", 10);
  return value >= least ? value : fallback;
}

function seconds(given, name, fallback) {
  const value = Number.parseFloat(given.get(name) ?? "");
  return value >= 0 ? value : fallback;
}

function sslOptions(given) {
  const mode = given.get("sslmode");
  if (mode !== "require" && !mode?.startsWith("verify-")) return false;
  const certificate = given.get("sslcert");
  try {
    return {
      rejectUnauthorized: given.get("sslaccept") === "strict",
      ca: certificate ? readFileSync(certificate, "utf8") : undefined,
    };
  } catch (error) {
    throw new StartError(`cannot read the certificate ${certificate} (${error.code})`, "mend sslcert in DATABASE_URL");
  }
}
