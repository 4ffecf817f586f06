import { endOfString, endOfValue } from "./json-text.mjs";

const DATA = '{"data":{';
const TAG = '{"$type":"';
const VALUE = '","value":';

/** Whether the engine answered with data (as opposed to errors). */
export function isData(answer) {
  return answer.startsWith(DATA);
}

/**
 * From the engine's `{"data":{"findUniqueUser": ...}}` to the `{"data":{"result": ...}}` of a GraphQL
 * engine. All of it on the text: a BigInt would not survive JSON.parse.
 */
export function renderData(answer, action) {
  const start = endOfString(answer, DATA.length) + 1;
  const end = answer.length - 2;
  const value = answer.slice(start, end);
  return `{"data":{"result":${action === "queryRaw" ? renderRaw(value) : untag(value)}}}`;
}

/** `{"$type":"BigInt","value":"12"}` becomes 12, every other tagged scalar its plain string. */
export function untag(text) {
  let tag = text.indexOf(TAG);
  if (tag === -1) return text;
  const parts = [];
  let copied = 0;
  while (tag !== -1) {
    const typeEnd = text.indexOf('"', tag + TAG.length);
    const start = typeEnd + VALUE.length;
    const end = endOfValue(text, start);
    const type = text.slice(tag + TAG.length, typeEnd);
    parts.push(text.slice(copied, tag), type === "BigInt" ? unquote(text.slice(start, end)) : text.slice(start, end));
    copied = end + 1;
    tag = text.indexOf(TAG, copied);
  }
  parts.push(text.slice(copied));
  return parts.join("");
}

function unquote(literal) {
  return literal.startsWith('"') ? literal.slice(1, -1) : literal;
}

/**
 * Raw rows in the form engines had before 5.15, the one prisma-client-py 0.11 reads: a list of
 * `{column: {prisma__type, prisma__value}}`.
 */
function renderRaw(text) {
  if (!text.startsWith('{"columns":')) return untag(text);
  const [columns, types, rows] = members(text).map(([, value]) => value);
  const prefixes = elements(columns).map((column) => `${column}:`);
  const readers = elements(types).map((type) => rawReader(JSON.parse(type)));
  const rendered = elements(rows).map((row) => {
    const cells = elements(row).map((cell, index) => prefixes[index] + readers[index](cell));
    return `{${cells.join(",")}}`;
  });
  return `[${rendered.join(",")}]`;
}

function rawReader(type) {
  if (!type.endsWith("-array")) return (cell) => rawCell(cell === "null" ? "null" : type, cell);
  const read = rawReader(type.slice(0, -"-array".length));
  return (cell) => (cell === "null" ? rawCell("null", cell) : rawCell("array", `[${elements(cell).map(read).join(",")}]`));
}

function rawCell(type, value) {
  return `{"prisma__type":"${type}","prisma__value":${value}}`;
}

function elements(list) {
  const found = [];
  for (let at = 1; list[at] !== "]"; ) {
    const end = endOfValue(list, at);
    found.push(list.slice(at, end));
    at = list[end] === "," ? end + 1 : end;
  }
  return found;
}

function members(object) {
  const found = [];
  for (let at = 1; object[at] !== "}"; ) {
    const colon = endOfString(object, at);
    const end = endOfValue(object, colon + 1);
    found.push([object.slice(at, colon), object.slice(colon + 1, end)]);
    at = object[end] === "," ? end + 1 : end;
  }
  return found;
}
