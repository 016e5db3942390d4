// The agent of bench/agent.yaml in LangChain JS, run so often; a child of langchain.mjs, which tells
// it what to do and hears of it by messages.
import pg from "pg";
import { createAgent } from "langchain";
import { ChatOpenAI } from "@langchain/openai";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { calculate, systemPrompt } from "./calculate.mjs";
import { answer } from "./rig.mjs";

const { url, host, commit } = JSON.parse(process.argv[2]);
const question = "What is three times seventeen? Work it out, then check it twice.";
const types = ["human", "ai", "tool", "ai", "tool", "ai", "tool", "ai"];

const saver = host === undefined ? undefined : new PostgresSaver(
  new pg.Pool({ host, user: "postgres", database: "postgres", options: `-c synchronous_commit=${commit}` }));
const agent = createAgent({
  model: new ChatOpenAI({ model: "bench", apiKey: "bench", configuration: { baseURL: url } }),
  tools: [calculate],
  systemPrompt,
  checkpointer: saver,
});

function check(messages, thread) {
  if (messages.map((message) => message.getType()).join() !== types.join() ||
      messages.some((message) => message.getType() === "tool" && message.content !== answer)) {
    throw new Error(`${thread} has not ended as it must`);
  }
}

const configOf = (thread) => ({ configurable: { thread_id: thread } });

async function runAll({ name, runs, inFlight }) {
  const times = [];
  let next = 0;
  const work = async () => {
    while (next < runs) {
      const thread = `${name}-${process.pid}-${next++}`;
      const began = performance.now();
      const state = await agent.invoke({ messages: [{ role: "user", content: question }] }, configOf(thread));
      times.push(performance.now() - began);
      check(state.messages, thread);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return times;
}

// What was stored must be right, too.
async function readBack({ name, runs }) {
  for (let i = 0; saver !== undefined && i < runs; i++) {
    const thread = `${name}-${process.pid}-${i}`;
    check((await agent.getState(configOf(thread))).values.messages, thread);
  }
}

process.on("disconnect", () => process.exit(1));
process.on("message", async (order) => {
  try {
    if (order.what === "run") {
      process.send({ times: await runAll(order) });
    } else if (order.what === "check") {
      process.send(await readBack(order) ?? {});
    } else { // never ends: the model does not answer
      runAll(order).catch(() => undefined);
      process.send({});
    }
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
});
if (saver !== undefined) {
  await saver.setup();
}
process.send({});
