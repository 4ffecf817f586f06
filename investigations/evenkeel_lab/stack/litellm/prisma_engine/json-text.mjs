import { QueryTextError } from "./errors.mjs";

const DEEPEST = 127;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Index just past the string literal that starts at `start`. */
export function endOfString(text, start) {
  let end = text.indexOf('"', start + 1);
  while (end !== -1) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 92) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
    end = text.indexOf('"', end + 1);
  }
  throw new QueryTextError("a string is not closed");
}

/** Index just past the JSON value that starts at `start`; the text is trusted to be JSON. */
export function endOfValue(text, start) {
  const first = text.charCodeAt(start);
  if (first === 34) return endOfString(text, start);
  if (first !== 123 && first !== 91) {
    let end = start;
    while (end < text.length && !",]}".includes(text[end])) end += 1;
    return end;
  }
  let depth = 0;
  for (let at = start; ; ) {
    const code = text.charCodeAt(at);
    if (code === 34) {
      at = endOfString(text, at);
      continue;
    }
    if (code === 123 || code === 91) depth += 1;
    else if (code === 125 || code === 93) depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
}

/**
 * Prisma's engine panics (and takes the whole process along) on JSON its parser refuses. That parser
 * is stricter than JavaScript's in three ways: depth, numbers beyond a double, lone surrogates.
 */
export function assertEngineCanParse(json) {
  let value;
  try {
    value = JSON.parse(json);
  } catch {
    throw new QueryTextError("the value of a Json field is not JSON");
  }
  inspect(value, 0, json.includes("\\u"));
}

function inspect(value, depth, escapes) {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new QueryTextError("a number in a Json field is out of range");
  } else if (typeof value === "string") {
    if (escapes && LONE_SURROGATE.test(value)) throw new QueryTextError("a Json field holds half a character");
  } else if (typeof value === "object" && value !== null) {
    if (depth >= DEEPEST) throw new QueryTextError("a Json field is nested too deep");
    for (const key in value) {
      if (escapes && !Array.isArray(value)) inspect(key, depth + 1, escapes);
      inspect(value[key], depth + 1, escapes);
    }
  }
}
