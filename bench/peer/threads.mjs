// What a turn more costs on a thread of so many messages in LangChain JS with its Postgres
// checkpointer: the write-ahead log's bytes, and the time. Each turn has a thread of its own,
// filled with FILE's messages (a JSON list) by an invoke before it; its answer is the last message.
//
//	node threads.mjs MESSAGES FILE TURNS SOCKET_FOLDER
//
// Prints a line a turn: "peer MESSAGES STEPS BYTES_A_STEP BYTES_A_TURN US_A_PUT MS_A_TURN 0".
import { readFileSync } from "node:fs";
import pg from "pg";
import { createAgent } from "langchain";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";

const [messages, file, turns, host] = process.argv.slice(2);
const filling = JSON.parse(readFileSync(file, "utf8"));
const role = { human: "user", ai: "assistant" };
const input = filling.map(({ type, content }) => ({ role: role[type], content }));

const saver = new PostgresSaver(new pg.Pool({ host, user: "postgres", database: "postgres" }));
await saver.setup();
let steps = 0, putMs = 0;
const put = saver.put.bind(saver);
saver.put = async (...args) => {
  const began = performance.now();
  const config = await put(...args);
  putMs += performance.now() - began;
  steps++;
  return config;
};

const watch = new pg.Client({ host, user: "postgres", database: "postgres" });
await watch.connect();
const position = async () =>
  BigInt((await watch.query("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as at")).rows[0].at);

const answer = "All looked up: this is the final answer.";
const agent = createAgent({
  model: new FakeListChatModel({ responses: [answer] }), tools: [], checkpointer: saver,
  systemPrompt: "You answer questions, and work numbers out with calculate.",
});

async function say(thread, list, expected) {
  const state = await agent.invoke({ messages: list }, { configurable: { thread_id: thread } });
  if (state.messages.length !== expected) {
    throw new Error(`${thread} has ${state.messages.length} messages, and should have ${expected}`);
  }
}

for (let i = 0; i <= Number(turns); i++) {
  const thread = `thread-${process.pid}-${i}`;
  await say(thread, input, Number(messages));
  steps = putMs = 0;
  const before = await position();
  const began = performance.now();
  await say(thread, [{ role: "user", content: "And what is three times seventeen?" }], Number(messages) + 2);
  const ms = performance.now() - began;
  const bytes = Number((await position()) - before);
  if (i === 0) continue; // a warm-up
  console.log("peer", messages, steps, (bytes / steps).toFixed(1), bytes, ((putMs * 1e3) / steps).toFixed(1),
    ms.toFixed(3), 0);
}
await watch.end();
await saver.end();
