/** The engine's own metrics, under the names and in the two formats of Prisma's. */
export function collect({ operations, connections, adapter, engine }) {
  const { open, idle, busy, waiting } = connections.gauges();
  const { count, milliseconds } = operations.total;
  const counter = (key, value, description) => ({ key, value, description, kind: "counter" });
  const gauge = (key, value, description) => ({ key, value, description, kind: "gauge" });
  return [
    counter("prisma_client_queries_total", count, "Total number of Prisma Client queries executed"),
    counter("prisma_datasource_queries_total", adapter.count, "Total number of datasource queries executed"),
    counter("prisma_pool_connections_opened_total", connections.opened, "Total number of pool connections opened"),
    counter("prisma_pool_connections_closed_total", connections.closed, "Total number of pool connections closed"),
    gauge("prisma_client_queries_active", engine.busy, "Number of Prisma Client queries being executed"),
    gauge("prisma_client_queries_wait", waiting, "Number of datasource queries waiting for a free connection"),
    gauge("prisma_pool_connections_open", open, "Number of pool connections open"),
    gauge("prisma_pool_connections_idle", idle, "Number of pool connections that are not busy"),
    gauge("prisma_pool_connections_busy", busy, "Number of pool connections in use"),
    {
      key: "prisma_client_queries_duration_histogram_ms",
      value: { buckets: operations.histogram(), sum: milliseconds, count },
      description: "Distribution of the time Prisma Client queries took, in milliseconds",
      kind: "histogram",
    },
  ];
}

export function asJson(metrics, labels) {
  const of = (kind) => metrics.filter((metric) => metric.kind === kind).map(({ kind: _, ...rest }) => ({ ...rest, labels }));
  return JSON.stringify({ counters: of("counter"), gauges: of("gauge"), histograms: of("histogram") });
}

export function asPrometheus(metrics, labels) {
  return metrics.map((metric) => `${head(metric)}${samples(metric, Object.entries(labels))}`).join("\n");
}

function head({ key, description, kind }) {
  return `# HELP ${key} ${description}\n# TYPE ${key} ${kind}\n`;
}

function samples({ key, value, kind }, labels) {
  if (kind !== "histogram") return `${sample(key, labels, value)}\n`;
  const buckets = [...value.buckets, ["+Inf", value.count]];
  return [
    ...buckets.map(([limit, count]) => sample(`${key}_bucket`, [...labels, ["le", limit]], count)),
    sample(`${key}_sum`, labels, value.sum),
    `${sample(`${key}_count`, labels, value.count)}\n`,
  ].join("\n");
}

function sample(name, labels, value) {
  const text = labels.map(([label, content]) => `${label}=${JSON.stringify(String(content))}`).join(",");
  return `${name}${text ? `{${text}}` : ""} ${value}`;
}
