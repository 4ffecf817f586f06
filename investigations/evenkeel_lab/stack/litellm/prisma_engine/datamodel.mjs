const BLOCK = /^(model|type|view)\s+(\w+)\s*\{/;
const FIELD = /^(\w+)\s+(\w+)(\[\])?\??(?!\w)/;

/**
 * What the translator must know of schema.prisma: for each model, which fields are Json and which
 * lead to another model. Everything else is passed through untouched.
 */
export class Datamodel {
  constructor(schema) {
    const fieldTypes = readFieldTypes(schema);
    this.models = new Map();
    for (const name of fieldTypes.keys()) this.models.set(name, { name, fields: new Map() });
    for (const [name, types] of fieldTypes) {
      const { fields } = this.models.get(name);
      for (const [field, type] of types) fields.set(field, this.#describe(type));
    }
  }

  #describe(type) {
    if (type === "Json") return { json: true, model: null };
    return { json: false, model: this.models.get(type) ?? null };
  }

  model(name) {
    return this.models.get(name);
  }

  jsonFields() {
    const found = [];
    for (const { name, fields } of this.models.values()) {
      for (const [field, { json }] of fields) if (json) found.push(`${name}.${field}`);
    }
    return found;
  }
}

function readFieldTypes(schema) {
  const models = new Map();
  let current = null;
  for (const raw of schema.split("\n")) {
    const line = raw.trim();
    const block = BLOCK.exec(line);
    if (block) {
      current = new Map();
      models.set(block[2], current);
    } else if (line.startsWith("}")) {
      current = null;
    } else if (current) {
      const field = FIELD.exec(line);
      if (field) current.set(field[1], field[2]);
    }
  }
  return models;
}

/** The variable named by `url = env("...")` in the datasource, DATABASE_URL in LiteLLM's schema. */
export function urlVariable(schema) {
  const datasource = /datasource\s+\w+\s*\{([^}]*)\}/.exec(schema)?.[1] ?? "";
  return /\burl\s*=\s*env\("([^"]+)"\)/.exec(datasource)?.[1] ?? "DATABASE_URL";
}

export function datasourceName(schema) {
  return /datasource\s+(\w+)\s*\{/.exec(schema)?.[1] ?? "db";
}
