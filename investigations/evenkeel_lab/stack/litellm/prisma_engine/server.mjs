import { createServer } from "node:http";
import { asJson, asPrometheus, collect } from "./metrics.mjs";

const JSON_TYPE = "application/json";
const START_STATUS = { P2024: 504, P2028: 504 };
const END_STATUS = { P2028: 422 };

/** The HTTP surface prisma-client-py speaks to, and the counters of the lab. */
export function httpServer(parts) {
  const { engine, operations } = parts;

  const query = async ({ body, headers }) => {
    const asked = parse(body);
    if (typeof asked?.query !== "string" && !Array.isArray(asked?.batch)) {
      return [422, JSON.stringify({ error: 'expected {"query": text} or {"batch": [...]}' })];
    }
    return [200, await engine.request(asked, headers["x-transaction-id"])];
  };
  const metrics = async ({ url, body }) => {
    const found = collect(parts);
    const labels = parse(body) ?? {};
    return url.endsWith("format=json") ? [200, asJson(found, labels)] : [200, asPrometheus(found, labels), "text/plain"];
  };
  const start = async ({ body }) => transactionAnswer(await engine.startTransaction(parse(body) ?? {}), START_STATUS);
  const commit = async ({ id }) => transactionAnswer(await engine.commitTransaction(id), END_STATUS);
  const rollback = async ({ id }) => transactionAnswer(await engine.rollbackTransaction(id), END_STATUS);

  const routes = new Map([
    ["POST /", query],
    ["GET /status", async () => [200, '{"status":"ok"}']],
    ["GET /metrics", metrics],
    ["POST /transaction/start", start],
    ["POST /transaction/*/commit", commit],
    ["POST /transaction/*/rollback", rollback],
    ["GET /evenkeel/operations", async () => [200, JSON.stringify(operations.list())]],
    ["POST /evenkeel/operations/reset", async () => [200, JSON.stringify(operations.reset() ?? {})]],
  ]);

  const server = createServer((request, response) => {
    const { path, id } = route(request.url);
    const handle = routes.get(`${request.method} ${path}`);
    if (!handle) return send(response, 404, '{"error":"not found"}');
    return readBody(request, (body) =>
      handle({ url: request.url, headers: request.headers, id, body }).then(
        (answer) => send(response, ...answer),
        (error) => send(response, 500, JSON.stringify({ error: error.message })),
      ),
    );
  });
  // The client decides how long it keeps a connection: closing first would break a request on its way.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  return server;
}

function route(url) {
  const [path] = url.split("?", 1);
  const named = /^\/transaction\/([^/]+)\/(commit|rollback)$/.exec(path);
  return named ? { path: `/transaction/*/${named[2]}`, id: named[1] } : { path };
}

function transactionAnswer(answer, statuses) {
  if (!answer.error_code) return [200, JSON.stringify(answer)];
  return [statuses[answer.error_code] ?? 500, JSON.stringify(answer)];
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function readBody(request, done) {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => done((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).toString()));
}

function send(response, status, text, type = JSON_TYPE) {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) });
  response.end(text);
}
