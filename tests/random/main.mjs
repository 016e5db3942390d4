// Random scenarios, played by the real LangChain JS and then by the fleet; what differs.
//
//	node main.mjs BUILD [--seed 1] [--count 100]
//
// A scenario is its seed: seed and the numbers behind it, count in all. In BUILD/random are the scenarios with what LangChain
// did as expectation, and what the fleet did. Exit status 1 when anything differs.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { endsAfter, endsBefore, leftOut, mended, torn } from "./decided.mjs";
import { drawScenario, drawStep } from "./draw.mjs";
import { expectationOf } from "./expect.mjs";
import { langchainPlayer } from "./langchain.mjs";
import { ModelServer } from "./model_server.mjs";
import { Random } from "./random.mjs";

const STEPS = { 1: 4, 2: 5, 3: 3, 4: 1 };
const MORE_STEPS = 2; // of a run that waits
const { values: { seed, count }, positionals: [build] } = parseArgs({
  allowPositionals: true, options: { seed: { type: "string", default: "1" }, count: { type: "string", default: "100" } },
});
const folder = `${build}/random`;
const met = new Map(); // rule of decided.mjs -> how often

function meets(rule) {
  if (rule !== undefined) met.set(rule, (met.get(rule) ?? 0) + 1);
  return rule !== undefined;
}

// The steps as LangChain plays them, up to the first that differs by decision.
async function playSteps(random, scenario, server) {
  const play = langchainPlayer(scenario, server);
  const most = Number(random.weighted(STEPS));
  for (let last; scenario.steps.length < most + (last?.status === "interrupted" ? MORE_STEPS : 0);) {
    const step = drawStep(random, scenario, last);
    try {
      last = await play(step);
    } catch (error) {
      if (error.lc_error_code !== "INVALID_CONCURRENT_GRAPH_UPDATE") throw error;
      meets(torn);
      break;
    }
    if (meets(endsBefore(scenario, last, step))) break;
    scenario.steps.push({ ...step, expect: expectationOf(scenario, mended(scenario, last)), said: last.error });
    if (meets(endsAfter(scenario, last))) break;
  }
}

async function scenarioOf(number, server) {
  const random = new Random(number);
  for (;;) {
    const scenario = { name: `random/${number}`, ...drawScenario(random) };
    if (meets(leftOut(scenario))) continue;
    try {
      await playSteps(random, scenario, server);
    } catch (error) {
      throw new Error(`seed ${number}: LangChain does not take the scenario: ${JSON.stringify(scenario.agent)}`, { cause: error });
    }
    if (scenario.steps.length > 0) return scenario;
  }
}

async function writeScenarios() {
  const server = new ModelServer();
  await server.listen();
  const scenarios = [];
  for (let i = 0; i < Number(count); i++) scenarios.push(await scenarioOf(Number(seed) + i, server));
  server.close();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(`${folder}/scenarios`, { recursive: true });
  writeFileSync(`${folder}/scenarios/random.json`, JSON.stringify(scenarios, null, 1));
  const steps = scenarios.reduce((sum, scenario) => sum + scenario.steps.length, 0);
  console.log(`LangChain has played ${scenarios.length} scenarios, ${steps} steps to compare. Left out, or cut, by decision:`);
  for (const [{ rule, says }, times] of met) console.log(`  ${String(times).padStart(5)}  ${rule}: ${says}`);
  return scenarios;
}

function report({ name, agent }, place) {
  const seed = name.split("/")[1];
  console.log(`
DIFFERS: seed ${seed}
  ${place}
  middleware: ${agent.middleware.map((one) => Object.keys(one)[0]).join(", ")}
  scenario: ${folder}/scenarios/random.json, ${name}; the fleet's: ${folder}/fleet/${name}.json
  again: make conformance-random SEED=${seed} COUNT=1`);
}

// The conformance harness says "FAIL name", and in the next line where. Returns its exit status.
async function playFleet(scenarios) {
  const harness = spawn(`${build}/tests-conformance`, [`${folder}/scenarios`, "--dump", `${folder}/fleet`],
    { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => harness.on("close", (status) => resolve(status ?? 1)));
  let failed, total;
  for await (const line of createInterface(harness.stdout)) {
    if (failed) report(failed, line.trim());
    failed = line.startsWith("FAIL ") ? scenarios.find(({ name }) => name === line.slice(5)) : undefined;
    if (/^\d+ passed/.test(line)) total = line;
  }
  console.log(`\n${total ?? "tests-conformance did not get to the end"}`);
  return ended;
}

process.exitCode = await playFleet(await writeScenarios());
