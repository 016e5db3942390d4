// One measurement of LangGraph's server for JavaScript (@langchain/langgraph-api, what `langgraphjs dev` starts) as a
// line (bench/line.h): the very run of agent.mjs, by HTTP, asked for by the same program as ours (bench/http).
//
//	node langgraph.mjs BUILD [--runs 300] [--in-flight 64] [--tokens 0 --gap-ms 0]
//
// It keeps threads in memory, and writes them to files now and then.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startModelServer } from "./rig.mjs";

const { values: options, positionals: [build] } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: "string", default: "300" },
    "in-flight": { type: "string", default: "64" },
    tokens: { type: "string", default: "0" },
    "gap-ms": { type: "string", default: "0" },
  },
});

const freePort = () => new Promise((resolve) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

const model = await startModelServer(build, 0, Number(options.tokens), Number(options["gap-ms"]));
const folder = mkdtempSync(join(tmpdir(), "flotilla-langgraph-"));
const port = await freePort();
const server = spawn(process.execPath, [new URL("langgraph_server.mjs", import.meta.url).pathname,
  JSON.stringify({ port, folder, workers: Math.max(10, Number(options["in-flight"])) })], {
  stdio: ["ignore", "ignore", "inherit", "ipc"],
  env: { ...process.env, NODE_ENV: "production", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "bench",
    LANGSMITH_TRACING: "false", LANGGRAPH_API_URL: `http://127.0.0.1:${port}` },
});
process.on("exit", () => {
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
await new Promise((resolve, reject) => {
  server.once("message", resolve);
  server.once("exit", () => reject(new Error("LangGraph's server has ended")));
});
const { status } = spawnSync(`${build}/bench-http`, ["--url", `http://127.0.0.1:${port}`, "--pid", String(server.pid),
  "--runs", options.runs, "--in-flight", options["in-flight"], "--tokens", options.tokens], { stdio: "inherit" });
model.stop();
process.exit(status ?? 1);
