#!/usr/bin/env node
// A chat in the terminal with an agent of the fleet, over `flotilla serve`, by LangGraph's own client.
//
//   chat.mjs AGENT [THREAD]        FLOTILLA_URL=http://127.0.0.1:8123  FLOTILLA_API_KEY=...
//
// What the model says is shown as it comes; a pause that asks a human is answered here. A thread's name goes on with it.
import { createInterface } from "node:readline/promises";
import { Client } from "@langchain/langgraph-sdk";

const [agent, name] = process.argv.slice(2);
if (!agent) {
	console.error("usage: chat.mjs AGENT [THREAD]");
	process.exit(2);
}

const client = new Client({
	apiUrl: process.env.FLOTILLA_URL ?? "http://127.0.0.1:8123",
	apiKey: process.env.FLOTILLA_API_KEY ?? null,
});
const terminal = createInterface({ input: process.stdin, output: process.stdout, terminal: process.stdin.isTTY });
const lines = terminal[Symbol.asyncIterator]();

// The next line, or null at the end.
async function ask(prompt) {
	process.stdout.write(prompt);
	const { value, done } = await lines.next();
	return done ? null : value.trim();
}

// Shows a run as it goes; returns what it asks, or undefined.
async function show(run) {
	let shown, asks;
	for await (const { event, data } of run) {
		if (event === "error") throw new Error(`${data.error}: ${data.message}`);
		if (event === "updates" && data.__interrupt__) asks = data.__interrupt__;
		if (event !== "messages") continue;
		const [message] = data;
		if (message.type === "tool") console.log(`\n  [${message.name}: ${message.status}]`);
		else if (message.content) {
			if (shown && shown !== message.id) console.log();
			process.stdout.write(String(message.content));
			shown = message.id;
		}
	}
	console.log();
	return asks;
}

// One answer for each call that human_in_the_loop asks about; other questions get a line of text, or JSON. Undefined: who
// was asked has gone.
async function answer({ value }) {
	if (!value?.action_requests) {
		const text = await ask(`${JSON.stringify(value)}\n? `);
		try {
			return JSON.parse(text) ?? undefined;
		} catch {
			return text;
		}
	}
	const decisions = [];
	for (const call of value.action_requests) {
		const said = await ask(`${call.name} ${JSON.stringify(call.args)}: y, or why not? `);
		if (said === null) return undefined;
		decisions.push(said === "y" ? { type: "approve" } : { type: "reject", message: said });
	}
	return { decisions };
}

const thread = await client.threads.create({ ...(name && { threadId: name, ifExists: "do_nothing" }) });
const run = (body) => show(client.runs.stream(thread.thread_id, agent, { streamMode: ["messages-tuple", "updates"], ...body }));

// What the next run is to do: with what is asked, or with a line of text. Null at the end.
async function next(asks) {
	if (!asks?.length) {
		const content = await ask("> ");
		return content === null ? null : { input: { messages: [{ role: "user", content }] } };
	}
	const resume = {};
	for (const one of asks) {
		const value = await answer(one);
		if (value === undefined) return null;
		resume[one.id] = value;
	}
	return { command: { resume } };
}

let asks = Object.values(thread.interrupts ?? {}).flat();
try {
	for (let body = await next(asks); body !== null; body = await next(asks)) asks = await run(body);
} catch (error) {
	console.error(`\n${error.message}`);
	process.exitCode = 1;
}
console.log(`\nthread ${thread.thread_id}`);
terminal.close();
