import { QueryTextError } from "./errors.mjs";

const ACTIONS = [
  "findUnique", "findFirst", "findMany", "aggregate", "groupBy",
  "createOne", "createMany", "updateOne", "updateMany", "upsertOne", "deleteOne", "deleteMany",
];
const RAW = new Set(["queryRaw", "executeRaw"]);

/** `findUniqueUserOrThrow` is the action `findUniqueOrThrow` on the model `User`. */
export function splitOperation(name, datamodel) {
  if (RAW.has(name)) return { action: name, model: null };
  for (const action of ACTIONS) {
    if (!name.startsWith(action)) continue;
    const rest = name.slice(action.length);
    const model = datamodel.model(rest);
    if (model) return { action, model };
    const thrower = rest.endsWith("OrThrow") ? datamodel.model(rest.slice(0, -"OrThrow".length)) : undefined;
    if (thrower) return { action: `${action}OrThrow`, model: thrower };
  }
  throw new QueryTextError(`there is no operation ${name}`);
}

/*
 * Where the translator stands inside the arguments, which decides whether a string is JSON text:
 * among a model's fields, right below a relation, inside one of a relation's operations, or in a
 * Json field.
 */
export const PLAIN = { kind: "plain", json: false, model: null };
const JSON_FIELD = { kind: "json", json: true, model: null };

const ARGUMENTS_WITH_FIELDS = new Set(["where", "data", "create", "update", "cursor", "having"]);
const RELATION_TO_FIELDS = new Set([
  "is", "isNot", "some", "every", "none", "create", "connect", "disconnect", "delete", "set", "deleteMany",
]);
const RELATION_TO_OPERATION = new Set(["connectOrCreate", "createMany", "update", "updateMany", "upsert"]);
const OPERATION_TO_FIELDS = new Set(["where", "data", "create", "update"]);
const JSON_FILTERS_OF_TEXT = new Set(["path", "mode", "string_contains", "string_starts_with", "string_ends_with"]);

export function argumentContext(key, model) {
  return model && ARGUMENTS_WITH_FIELDS.has(key) ? at("fields", model) : PLAIN;
}

/** The context below `key`; `first` is the first character of its value. */
export function childContext(context, key, first) {
  const { kind, model } = context;
  switch (kind) {
    case "fields":
      return fieldContext(context, key);
    case "relation":
      if (RELATION_TO_FIELDS.has(key)) return at("fields", model);
      if (RELATION_TO_OPERATION.has(key)) return at("operation", model);
      return fieldContext(at("fields", model), key);
    case "operation":
      // A model may have a Json field called "data": its value is a string, the operation's is not.
      if (OPERATION_TO_FIELDS.has(key) && (first === "{" || first === "[")) return at("fields", model);
      return fieldContext(at("fields", model), key);
    case "json":
      return JSON_FILTERS_OF_TEXT.has(key) ? PLAIN : context;
    default:
      return PLAIN;
  }
}

function fieldContext(context, key) {
  const field = context.model.fields.get(key);
  if (!field) return context; // AND, OR, NOT and the names of compound keys
  if (field.json) return JSON_FIELD;
  return field.model ? at("relation", field.model) : PLAIN;
}

function at(kind, model) {
  model.contexts ??= {};
  model.contexts[kind] ??= { kind, json: false, model };
  return model.contexts[kind];
}
