import assert from "node:assert/strict";
import { test } from "node:test";
import { asJson, asPrometheus, collect } from "../prisma_engine/metrics.mjs";
import { Operations } from "../prisma_engine/operations.mjs";

const USER = { model: "User", action: "findUnique" };

function sources() {
  const operations = new Operations();
  operations.record(USER, 2, true);
  operations.record(USER, 3, false);
  operations.record({ model: null, action: "queryRaw" }, 1, true);
  const connections = { opened: 2, closed: 1, gauges: () => ({ open: 1, idle: 1, busy: 0, waiting: 0 }) };
  return { operations, connections, adapter: { count: 5 }, engine: { busy: 0 } };
}

test("operations are counted by model and action", () => {
  const { operations } = sources();
  assert.deepEqual(operations.list(), [
    { ...USER, count: 2, errors: 1, seconds: 0.005 },
    { model: null, action: "queryRaw", count: 1, errors: 0, seconds: 0.001 },
  ]);
  operations.reset();
  assert.deepEqual(operations.list(), []);
  assert.equal(operations.total.count, 3);
});

test("JSON has the three lists prisma-client-py validates", () => {
  const { counters, gauges, histograms } = JSON.parse(asJson(collect(sources()), { app: "x" }));
  assert.deepEqual(counters[0], {
    key: "prisma_client_queries_total", value: 3, description: "Total number of Prisma Client queries executed", labels: { app: "x" },
  });
  assert.ok(gauges.every(({ value }) => Number.isInteger(value)));
  assert.deepEqual(histograms[0].value.buckets[0], [1, 1]);
  assert.equal(histograms[0].value.count, 3);
});

test("the Prometheus text", () => {
  const lines = asPrometheus(collect(sources()), { app: 'a"b' }).split("\n");
  assert.ok(lines.includes("# TYPE prisma_client_queries_total counter"));
  assert.ok(lines.includes('prisma_client_queries_total{app="a\\"b"} 3'));
  assert.ok(lines.includes('prisma_client_queries_duration_histogram_ms_bucket{app="a\\"b",le="+Inf"} 3'));
  assert.ok(asPrometheus(collect(sources()), {}).includes("\nprisma_pool_connections_open 1\n"));
});
