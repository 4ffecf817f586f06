import { QueryTextError } from "./errors.mjs";
import { assertEngineCanParse, endOfString } from "./json-text.mjs";
import { argumentContext, childContext, splitOperation } from "./query-context.mjs";

const BARE_END = /[\s,:(){}[\]"]/g;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const LITERALS = new Set(["true", "false", "null"]);

/**
 * Translates the GraphQL that prisma-client-py writes to a query of Prisma's JSON protocol. It goes
 * from text to text, so that a number reaches the engine digit for digit.
 */
export function translate(text, datamodel) {
  return new Translation(text, datamodel).run();
}

class Translation {
  constructor(text, datamodel) {
    this.text = text;
    this.at = 0;
    this.datamodel = datamodel;
  }

  run() {
    this.#bare();
    this.#expect("{");
    let name = this.#bare();
    if (this.#peek() === ":") {
      this.at += 1;
      name = this.#bare();
    }
    const { action, model } = splitOperation(name, this.datamodel);
    try {
      const query = this.#node(model);
      this.#expect("}");
      const modelName = model ? `"modelName":"${model.name}",` : "";
      return { json: `{${modelName}"action":"${action}","query":${query}}`, model: model?.name ?? null, action };
    } catch (error) {
      error.operation = name;
      throw error;
    }
  }

  /** `(arguments) { selection }`, both optional. */
  #node(model) {
    let given = "{}";
    if (this.#peek() === "(") {
      this.at += 1;
      given = this.#entries(")", (key) => argumentContext(key, model));
    }
    const selection = this.#peek() === "{" ? this.#selection(model) : "{}";
    return `{"arguments":${given},"selection":${selection}}`;
  }

  #selection(model) {
    this.at += 1;
    const parts = [];
    while (this.#peek() !== "}") {
      const field = this.#bare();
      const next = this.#peek();
      const nested = next === "(" || next === "{";
      parts.push(`"${field}":${nested ? this.#node(model?.fields.get(field)?.model) : "true"}`);
    }
    this.at += 1;
    return `{${parts.join(",")}}`;
  }

  #entries(close, contextOf) {
    const parts = [];
    while (this.#peek() !== close) {
      const key = this.#peek() === '"' ? JSON.parse(this.#string()) : this.#bare();
      this.#expect(":");
      try {
        parts.push(`${JSON.stringify(key)}:${this.#value(contextOf(key, this.#peek()))}`);
      } catch (error) {
        error.path?.unshift(key);
        throw error;
      }
    }
    this.at += 1;
    return `{${parts.join(",")}}`;
  }

  #value(context) {
    switch (this.#peek()) {
      case '"':
        return context.json ? taggedJson(this.#string()) : this.#string();
      case "{":
        this.at += 1;
        return this.#entries("}", (key, first) => childContext(context, key, first));
      case "[":
        return this.#list(context);
      default:
        return context.json ? noJson(this.#bare()) : bareValue(this.#bare());
    }
  }

  #list(context) {
    this.at += 1;
    const items = [];
    while (this.#peek() !== "]") items.push(this.#value(context));
    this.at += 1;
    return `[${items.join(",")}]`;
  }

  #string() {
    const start = this.at;
    this.at = endOfString(this.text, start);
    return this.text.slice(start, this.at);
  }

  #bare() {
    this.#peek();
    const start = this.at;
    BARE_END.lastIndex = start;
    this.at = BARE_END.exec(this.text)?.index ?? this.text.length;
    if (this.at === start) throw new QueryTextError(`expected a name or a value, found "${this.text[start] ?? "the end"}"`);
    return this.text.slice(start, this.at);
  }

  #expect(character) {
    const found = this.#peek();
    if (found !== character) throw new QueryTextError(`expected "${character}", found "${found ?? "the end"}"`);
    this.at += 1;
  }

  /** The next character that means something; commas mean nothing in GraphQL. */
  #peek() {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 44 && code !== 13 && code !== 9) return this.text[this.at];
      this.at += 1;
    }
  }
}

function bareValue(word) {
  return LITERALS.has(word) || NUMBER.test(word) ? word : JSON.stringify(word);
}

// The native engine refuses these; the one in WebAssembly would store them, null even as a JSON null.
function noJson(word) {
  throw new QueryTextError(word === "null" ? "A value is required but not set" : `${word} is given where Json is expected`);
}

// Untagged, a string would be stored as a JSON string, silently: '{"a":1}' as "{\"a\":1}".
function taggedJson(literal) {
  assertEngineCanParse(JSON.parse(literal));
  return `{"$type":"Json","value":${literal}}`;
}

