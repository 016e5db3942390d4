// What the peers in JavaScript share: the model server, processes' CPU time and memory, the line
// of a measurement (bench/line.h).
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

export const answer = "51"; // what the tool answers in every run

const tick_us = 1e6 / 100; // USER_HZ

// CPU time of the processes and of all their children that are there or have ended, in microseconds.
export function cpuOf(pids) {
  const all = new Map();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
      all.set(Number(pid), { parent: Number(words[1]), ticks: words.slice(11, 15).map(Number) });
    } catch {
      // it has ended
    }
  }
  const sum = (pid) => {
    const own = all.get(pid);
    return own === undefined ? 0 : own.ticks.reduce((a, b) => a + b) +
      [...all].filter(([, other]) => other.parent === pid).map(([child]) => sum(child)).reduce((a, b) => a + b, 0);
  };
  return pids.map((pid) => sum(pid) * tick_us).reduce((a, b) => a + b, 0);
}

// Memory that only these processes and their children have, and their share of what they share: in KB.
export function memoryOf(pids) {
  const wanted = new Set(pids);
  let kb = 0, grown = true;
  const parents = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((pid) => {
    try {
      return [Number(pid), Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ")[1])];
    } catch {
      return [Number(pid), 0];
    }
  });
  while (grown) {
    grown = false;
    for (const [pid, parent] of parents) {
      if (wanted.has(parent) && !wanted.has(pid)) {
        wanted.add(pid);
        grown = true;
      }
    }
  }
  for (const pid of wanted) {
    kb += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]);
  }
  return kb;
}

// The most that was resident of each so far, in KB.
export function peakOf(pids) {
  return pids.map((pid) => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]))
    .reduce((a, b) => a + b, 0);
}

// tokens: that its texts are streamed in, gapMs apart, each of tokenBytes; then it wants recite, and not calculate.
const tokenBytes = 5;
export async function startModelServer(build, latencyMs, tokens = 0, gapMs = 0) {
  const bytes = String(tokens * tokenBytes);
  const does = tokens > 0
    ? ["-n", "recite", "-a", `{"bytes": ${bytes}}`, "-b", bytes, "-t", String(tokens), "-g", String(gapMs)]
    : ["-n", "calculate", "-a", '{"expression": "17 * 3"}'];
  const child = spawn(`${build}/model-server`, ["-l", String(latencyMs), ...does], { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill());
  process.on("SIGTERM", () => process.exit(1));
  const port = await new Promise((resolve, reject) => {
    child.stdout.once("data", (data) => resolve(Number(data)));
    child.once("exit", () => reject(new Error("the model server has ended")));
  });
  const files = () => readdirSync(`/proc/${child.pid}/fd`).length;
  const before = files();
  return {
    url: `http://127.0.0.1:${port}/v1`,
    connections: () => files() - before,
    stop: () => {
      child.removeAllListeners("exit");
      child.kill();
    },
  };
}

export function percentile(sorted, share) {
  return sorted[Math.floor(share * (sorted.length - 1) + 0.5)];
}

const number = (value, digits) => (value > 0 ? value.toFixed(digits) : "-");

export function printLine({ measure, system, stored, inFlight, count, perS, p50, p99, cpuUs, memoryKb, parts }) {
  const text = Object.entries(parts ?? {}).map(([name, value]) => `${name}=${value.toFixed(1)}`).join(" ");
  console.log([measure, system, stored ?? "-", inFlight, count, number(perS, 1), number(p50, 3), number(p99, 3),
    number(cpuUs, 1), number(memoryKb, 1), text || "-"].join("\t"));
}
