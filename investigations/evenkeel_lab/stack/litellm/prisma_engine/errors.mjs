import { fileURLToPath } from "node:url";

/** The engine cannot start: one line for a person, with a cure, never a stack trace. */
export class StartError extends Error {
  constructor(message, cure) {
    super(message);
    this.cure = cure;
  }
}

export const FAILED_START = 2;

/** Says in one line why the engine cannot start, and ends the process. */
export function exitWith(error) {
  let { message, cure } = error;
  if (error.code?.endsWith?.("MODULE_NOT_FOUND")) {
    message = message.split(" imported from")[0];
    cure = `run "npm ci --ignore-scripts" in ${fileURLToPath(new URL(".", import.meta.url))}`;
  } else if (error instanceof ConnectionTrouble) {
    cure = "is Postgres running, and is DATABASE_URL right?";
  }
  console.error(`query-engine: ${String(message).split("\n")[0]}${cure ? `; ${cure}` : ""}`);
  process.exit(FAILED_START);
}

/** A query text or value that Prisma's engine would refuse; `path` is filled in while unwinding. */
export class QueryTextError extends Error {
  constructor(message) {
    super(message);
    this.path = [];
  }
}

/** The connection could not be had or was lost, as opposed to an answer from Postgres. */
export class ConnectionTrouble extends Error {
  constructor(code, message, meta) {
    super(message);
    this.code = code;
    this.meta = meta;
  }
}

/** Prisma's WebAssembly hit a panic; its memory is not to be trusted any more. */
export class EnginePanic extends Error {}

/** One entry of the `errors` list that prisma-client-py turns into an exception. */
export function errorEntry({ code, message, meta = {}, panic = false, error = message }) {
  const facing = { is_panic: panic, message, meta };
  if (code) facing.error_code = code;
  return { error, user_facing_error: facing };
}

const UNKNOWN_EXTERNAL = "P2036";

/**
 * Replace "error in external connector (id 7)" by what really happened, and keep `meta` an object:
 * prisma-client-py calls `.get` on it and crashes on null.
 */
export function repairFacingError(facing, findExternal) {
  const cause = facing.error_code === UNKNOWN_EXTERNAL ? findExternal(facing.meta?.id) : undefined;
  if (cause) {
    const { is_panic, batch_request_idx } = facing;
    const known = cause instanceof ConnectionTrouble;
    const repaired = { is_panic, message: cause.message, meta: (known && cause.meta) || {} };
    if (known) repaired.error_code = cause.code;
    if (batch_request_idx !== undefined) repaired.batch_request_idx = batch_request_idx;
    return repaired;
  }
  if (facing.meta === null) facing.meta = {};
  return facing;
}

/** The body for a failed request, from whatever was thrown. */
export function errorBody(error, operation) {
  if (error instanceof QueryTextError) {
    const where = operation ? `${operation}.${error.path.join(".")}` : "the query";
    const meta = { kind: "InvalidArgumentValue", selectionPath: operation ? [operation] : [], argumentPath: error.path };
    return { errors: [errorEntry({ code: "P2009", message: `${error.message} at \`${where}\``, meta })] };
  }
  if (error instanceof ConnectionTrouble) {
    return { errors: [errorEntry({ code: error.code, message: error.message, meta: error.meta })] };
  }
  return { errors: [errorEntry({ message: String(error?.message ?? error), panic: error instanceof EnginePanic })] };
}

export function unknownTransaction() {
  return transactionError("Transaction not found: its id is not one of this engine's.");
}

export function transactionTooLate(milliseconds) {
  return transactionError(`Unable to start a transaction in the given time of ${milliseconds} ms.`);
}

function transactionError(reason) {
  const message = `Transaction API error: ${reason}`;
  return { code: "P2028", message, meta: { error: message } };
}
