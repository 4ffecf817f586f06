import pg from "pg";

/** Prisma's numbers for the types of result columns; an array's is its element's plus 64. */
const Column = {
  Int32: 0, Int64: 1, Float: 2, Double: 3, Numeric: 4, Boolean: 5, Text: 7, Date: 8, Time: 9, DateTime: 10,
  Json: 11, Bytes: 13, Uuid: 15,
};
const ARRAY = 64;

const asIs = (text) => text;
const isTrue = (text) => text === "t";
const zoneless = (text) => text.replace(/[+-][\d:]+$/, "");
const bytes = (text) => Array.from(Buffer.from(text.slice(2), "hex"));

// Postgres writes "2024-05-06 07:08:09.12+05:30" in the session's time zone; Prisma reads RFC 3339.
function instant(text) {
  const [, date, time, hours, minutes = "00"] = /^(\S+) (\S+?)([+-]\d\d)(?::(\d\d))?(?::\d\d)?$/.exec(text) ?? [];
  return date ? `${date}T${time}${hours}:${minutes}` : text;
}

/** [type, array type, kind, parser] by Postgres OID. */
const KNOWN = [
  [16, 1000, Column.Boolean, isTrue],
  [17, 1001, Column.Bytes, bytes],
  [18, 1002, Column.Text, asIs], // "char"
  [19, 1003, Column.Text, asIs], // name
  [20, 1016, Column.Int64, asIs],
  [21, 1005, Column.Int32, Number],
  [23, 1007, Column.Int32, Number],
  [25, 1009, Column.Text, asIs],
  [26, 1028, Column.Int64, asIs], // oid
  [114, 199, Column.Json, asIs],
  [142, 143, Column.Text, asIs], // xml
  [650, 651, Column.Text, asIs], // cidr
  [700, 1021, Column.Float, Number],
  [701, 1022, Column.Double, Number],
  [790, 791, Column.Text, asIs], // money
  [869, 1041, Column.Text, asIs], // inet
  [1042, 1014, Column.Text, asIs], // bpchar
  [1043, 1015, Column.Text, asIs],
  [1082, 1182, Column.Date, asIs],
  [1083, 1183, Column.Time, asIs],
  [1114, 1115, Column.DateTime, asIs],
  [1184, 1185, Column.DateTime, instant],
  [1186, 1187, Column.Text, asIs], // interval
  [1266, 1270, Column.Time, zoneless],
  [1560, 1561, Column.Text, asIs], // bit
  [1562, 1563, Column.Text, asIs], // varbit
  [1700, 1231, Column.Numeric, asIs],
  [2950, 0, Column.Uuid, asIs],
  [0, 2951, Column.Text, asIs], // the engine has no lists of uuids
  [3802, 3807, Column.Json, asIs],
];

const UNKNOWN = { type: Column.Text, parse: asIs };
const BY_OID = new Map();
for (const [oid, arrayOid, type, parse] of KNOWN) {
  BY_OID.set(oid, { type, parse });
  BY_OID.set(arrayOid, { type: type + ARRAY, parse: (text) => pg.types.arrayParser.create(text, parse).parse() });
}

/** An unknown type is text: enums are, and for the rest text beats a refusal. */
export function columnType(oid) {
  return (BY_OID.get(oid) ?? UNKNOWN).type;
}

/** What `pg` asks for; it must not parse anything by its own rules. */
export const parsers = { getTypeParser: (oid) => (BY_OID.get(oid) ?? UNKNOWN).parse };
