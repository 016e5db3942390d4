// One measurement of bare dispatch by BullMQ as a line (bench/line.h): jobs of 300 bytes that answer
// with as many, a queue in Redis with its append-only file, a worker, a client, each a process.
//
//	node bullmq.mjs JOBS IN_FLIGHT
//
// The worker takes as many jobs at once as are in flight; results are waited for by QueueEvents.
import { fork, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { Queue, QueueEvents, Worker } from "bullmq";
import { cpuOf, percentile, printLine } from "./rig.mjs";

const [jobs, inFlight, path] = process.argv.slice(2);
const name = "echo", bytes = 300, warmUpJobs = 1000;

function jobOf(number) {
  return `${number} `.padEnd(bytes, "x");
}

function work() {
  const worker = new Worker(name, async (job) => job.data.text, { connection: { path }, concurrency: Number(inFlight) });
  worker.on("error", (error) => {
    console.error(error.message);
    process.exit(1);
  });
  worker.waitUntilReady().then(() => process.send("ready"));
}

async function runAll(queue, events, count) {
  const times = [];
  let next = 0;
  await Promise.all(Array.from({ length: Number(inFlight) }, async () => {
    while (next < count) {
      const text = jobOf(next++);
      const began = performance.now();
      const job = await queue.add(name, { text }, { removeOnComplete: { count: 10000 } });
      // Rather no line than a wait for ever.
      if (await job.waitUntilFinished(events, 30000) !== text) {
        throw new Error("an answer to another job");
      }
      times.push(performance.now() - began);
    }
  }));
  return times.sort((a, b) => a - b);
}

async function bench() {
  let worker;
  const folder = mkdtempSync("/tmp/flotilla-bench-"), socket = `${folder}/redis`;
  const redis = spawn("redis-server", ["--port", "0", "--unixsocket", socket, "--dir", folder, "--save", "",
    "--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0",
    "--logfile", `${folder}/log`], { stdio: "inherit" });
  process.on("SIGTERM", () => process.exit(1));
  process.on("exit", () => {
    worker?.kill("SIGKILL");
    redis.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  while (!existsSync(socket)) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  worker = fork(process.argv[1], [jobs, inFlight, socket]);
  worker.once("exit", () => process.exit(1));
  await new Promise((resolve) => worker.once("message", resolve));
  const queue = new Queue(name, { connection: { path: socket } });
  // From the first event on. By itself it would begin with those behind its first read, which waitUntilReady does not
  // wait for: of a job that ends before that it would never hear.
  const events = new QueueEvents(name, { connection: { path: socket }, lastEventId: "0" });
  queue.setMaxListeners(0); // one a job that is waited for
  events.setMaxListeners(0);
  await events.waitUntilReady();
  await runAll(queue, events, warmUpJobs);
  const groups = { queue: redis.pid, worker: worker.pid };
  const read = () => {
    const { user, system } = process.cpuUsage();
    return { queue: cpuOf([groups.queue]), worker: cpuOf([groups.worker]), client: user + system };
  };
  const before = read();
  const began = performance.now();
  const times = await runAll(queue, events, Number(jobs));
  const seconds = (performance.now() - began) / 1e3;
  const after = read();
  const parts = Object.fromEntries(Object.keys(after).map((part) => [part, (after[part] - before[part]) / Number(jobs)]));
  printLine({
    measure: "dispatch", system: "bullmq", stored: "everysec", inFlight, count: jobs, perS: Number(jobs) / seconds,
    p50: percentile(times, 0.5), p99: percentile(times, 0.99), cpuUs: parts.queue + parts.worker + parts.client, parts,
  });
  worker.removeAllListeners("exit");
  process.exit(0);
}

await (path === undefined ? bench() : work());
