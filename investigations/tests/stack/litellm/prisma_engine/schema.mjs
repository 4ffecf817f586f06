/** A schema with every shape the translator must tell apart. */
export const SCHEMA = `
datasource client {
  provider = "postgresql"
  url      = env("LAB_DATABASE_URL")
}

enum Colour {
  RED
  BLUE
}

// model Commented { nothing Json }
model User {
  id       String    @id @default(uuid())
  name     String?   // a comment with Json in it
  age      Int?
  big      BigInt?
  score    Float     @default(0.0)
  price    Decimal?
  blob     Bytes?
  born     DateTime?
  active   Boolean?
  colour   Colour?
  meta     Json?
  data     Json?
  history  Json[]
  tags     String[]
  team_id  String?
  team     Team?     @relation(fields: [team_id], references: [id])

  @@unique([name, age])
}

model Team {
  id      String @id
  options Json   @default("{}") @map("opts")
  users   User[]
}
`;

/** The body of a query as prisma-client-py renders it: json.dumps(ensure_ascii=False), indented, no commas. */
export function python(operation, kind, given, selection) {
  const render = (value) => {
    if (Array.isArray(value)) return `[\n${value.map(render).join(",\n")}\n]`;
    if (value === null || typeof value !== "object") return typeof value === "bigint" ? String(value) : JSON.stringify(value);
    if (value instanceof Json) return JSON.stringify(value.text);
    return `{\n${entries(value)}\n}`;
  };
  const entries = (object) => Object.entries(object).map(([key, value]) => `  ${key}: ${render(value)}`).join("\n");
  return `${kind} {\n  result: ${operation}\n  (\n${entries(given)}\n  )\n${selection ?? ""}\n}`;
}

/** Like prisma.Json: rendered as a string that holds JSON text. */
export class Json {
  constructor(value, text = JSON.stringify(value)) {
    this.text = text;
  }
}

/** Repeatable random numbers, so that a failing case can be found again. */
export function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const NASTY = ['"', "\\", '\\"', "\n", "\u2028", "é☃😀", '{"$type":"BigInt","value":"1"}', "}])", " $1 ", ",", ":", "null", ""];

export function randomText(random) {
  let text = "";
  for (let left = Math.floor(random() * 5); left > 0; left -= 1) text += NASTY[Math.floor(random() * NASTY.length)];
  return text;
}

export function randomJson(random, depth = 0) {
  const kind = Math.floor(random() * (depth > 3 ? 5 : 7));
  const several = () => Array.from({ length: Math.floor(random() * 4) });
  switch (kind) {
    case 0:
      return null;
    case 1:
      return random() < 0.5;
    case 2:
      return Math.floor((random() - 0.5) * 2 ** 53);
    case 3:
      return (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20);
    case 4:
      return randomText(random);
    case 5:
      return several().map(() => randomJson(random, depth + 1));
    default:
      return Object.fromEntries(several().map(() => [randomText(random), randomJson(random, depth + 1)]));
  }
}
