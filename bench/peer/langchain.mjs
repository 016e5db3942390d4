// One measurement of LangChain JS as a line (bench/line.h): the very run of bench/turn.c, by HTTP
// against the same model server.
//
//	node langchain.mjs BUILD [--runs 600] [--in-flight 64] [--processes 1] [--waiting 0]
//	    [--postgres SOCKET_FOLDER --postmaster PID --stored everysec|always]
//
// Without --postgres nothing is stored. everysec is PostgreSQL's synchronous_commit=off, always its default, on. The
// runs are spread over the processes. With --waiting nothing is run: what the memory of all
// processes grows by when so many runs wait for a model.
import { fork } from "node:child_process";
import { parseArgs } from "node:util";
import { cpuOf, memoryOf, peakOf, percentile, printLine, startModelServer } from "./rig.mjs";

const { values: options, positionals: [build] } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "600" },
    "in-flight": { type: "string", default: "64" },
    processes: { type: "string", default: "1" },
    waiting: { type: "string", default: "0" },
    postgres: { type: "string" },
    postmaster: { type: "string" },
    stored: { type: "string" },
  },
});
const waiting = Number(options.waiting), processes = Number(options.processes);
const slowMs = 120000, settleMs = 50, warmUpRuns = 100;

const server = await startModelServer(build, waiting > 0 ? slowMs : 0);
const said = (child) => new Promise((resolve, reject) => {
  const died = () => reject(new Error("an agent has ended"));
  child.once("exit", died);
  child.once("message", (message) => {
    child.off("exit", died);
    resolve(message);
  });
});
const agents = [];
for (let i = 0; i < processes; i++) { // one after the other: each sets the database up
  agents.push(fork(new URL("agent.mjs", import.meta.url), [JSON.stringify({
    url: server.url, host: options.postgres, commit: options.stored === "always" ? "on" : "off",
  })], { env: { ...process.env, NODE_ENV: "production" } }));
  await said(agents[i]);
}
const share = (all, i) => Math.floor((all * (i + 1)) / processes) - Math.floor((all * i) / processes);
const tellAll = (what, name, runs, inFlight) => Promise.all(agents.map((agent, i) => {
  agent.send({ what, name, runs: share(runs, i), inFlight: Math.max(1, share(inFlight, i)) });
  return said(agent);
}));

const groups = { node: agents.map((agent) => agent.pid) };
if (options.postgres !== undefined) {
  groups.postgres = [Number(options.postmaster)];
}
const readAll = (read) => Object.fromEntries(Object.entries(groups).map(([name, pids]) => [name, read(pids)]));
const growth = (before, after, count) =>
  Object.fromEntries(Object.keys(groups).map((name) => [name, (after[name] - before[name]) / count]));
const sum = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);
const system = `langchain${options.postgres === undefined ? "" : "-postgres"}${processes > 1 ? `-${processes}` : ""}`;

async function measureRuns() {
  const runs = Number(options.runs), inFlight = Number(options["in-flight"]);
  await tellAll("run", "warm", warmUpRuns, inFlight);
  const before = readAll(cpuOf);
  const began = performance.now();
  const results = await tellAll("run", "run", runs, inFlight);
  const seconds = (performance.now() - began) / 1e3;
  const parts = growth(before, readAll(cpuOf), runs);
  await tellAll("check", "run", runs, inFlight);
  const times = results.flatMap((result) => result.times).sort((a, b) => a - b);
  printLine({
    measure: "run", system, stored: options.stored, inFlight, count: runs, perS: runs / seconds,
    p50: percentile(times, 0.5), p99: percentile(times, 0.99), cpuUs: sum(parts), parts,
  });
}

async function settle(calls) {
  while (server.connections() < calls) {
    await new Promise((resolve) => setTimeout(resolve, settleMs));
  }
  await new Promise((resolve) => setTimeout(resolve, settleMs));
}

async function measureMemory() {
  await tellAll("wait", "warm", processes, processes);
  await settle(processes);
  const before = readAll(memoryOf), peakBefore = peakOf(groups.node);
  await tellAll("wait", "wait", waiting, waiting);
  await settle(processes + waiting);
  const parts = growth(before, readAll(memoryOf), waiting);
  printLine({ measure: "waiting", system, stored: options.stored, inFlight: waiting, count: waiting,
    memoryKb: sum(parts), parts: { ...parts, "node-at-its-peak": (peakOf(groups.node) - peakBefore) / waiting } });
}

await (waiting > 0 ? measureMemory() : measureRuns());
agents.forEach((agent) => agent.kill("SIGKILL"));
server.stop();
process.exit(0);
