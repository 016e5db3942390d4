// Random choices from a seed: the same seed gives the same scenario, on every machine (mulberry32).
export class Random {
  constructor(seed) {
    this.state = Math.imul(seed, 0x9e3779b1) >>> 0;
  }

  // In [0, 1).
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  chance(probability) {
    return this.next() < probability;
  }

  // From low to high, both included.
  integer(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  of(list) {
    return list[this.integer(0, list.length - 1)];
  }

  // One of the keys of {key: weight}.
  weighted(weights) {
    let at = this.next() * Object.values(weights).reduce((a, b) => a + b, 0);
    return Object.keys(weights).find((key) => (at -= weights[key]) < 0);
  }

  // Each element with this probability, in the list's order.
  some(list, probability) {
    return list.filter(() => this.chance(probability));
  }
}
