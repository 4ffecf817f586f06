/** How often each operation of each model ran, how long in sum, and how many failed. */
export class Operations {
  #counters = new Map();
  #buckets = [1, 5, 10, 50, 100, 500, 1000, 5000].map((limit) => ({ limit, count: 0 }));
  total = { count: 0, milliseconds: 0, errors: 0 };

  record({ model, action }, milliseconds, ok) {
    const key = `${model}.${action}`;
    let counter = this.#counters.get(key);
    if (!counter) {
      counter = { model, action, count: 0, milliseconds: 0, errors: 0 };
      this.#counters.set(key, counter);
    }
    for (const each of [counter, this.total]) {
      each.count += 1;
      each.milliseconds += milliseconds;
      if (!ok) each.errors += 1;
    }
    for (const bucket of this.#buckets) if (milliseconds <= bucket.limit) bucket.count += 1;
  }

  list() {
    return [...this.#counters.values()]
      .map(({ milliseconds, ...counter }) => ({ ...counter, seconds: milliseconds / 1000 }))
      .sort((one, other) => other.count - one.count);
  }

  /** Cumulative counts by upper limit in milliseconds; these, like `total`, are never reset. */
  histogram() {
    return this.#buckets.map(({ limit, count }) => [limit, count]);
  }

  reset() {
    this.#counters.clear();
  }
}
