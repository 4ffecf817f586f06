import { appendFileSync } from "node:fs";

/** Writes each failed query with its errors to a file, one JSON line each, if a file is named. */
export function errorLog(path) {
  if (!path) return () => {};
  return (query, errors) => {
    const line = JSON.stringify({ at: new Date().toISOString(), query, errors: errors.map((each) => each.user_facing_error) });
    appendFileSync(path, `${line}\n`);
  };
}
