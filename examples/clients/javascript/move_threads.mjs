#!/usr/bin/env node
// Takes the threads of some assistants from one server of LangGraph's API to another, with ids, metadata and the state they have
// now; their histories stay. What is there already is passed over, so that it can be run again.
//
//   move_threads.mjs ASSISTANT...        FROM_URL=http://... FROM_API_KEY=...  TO_URL=http://127.0.0.1:8123 TO_API_KEY=...
import { Client } from "@langchain/langgraph-sdk";

const PAGE = 100;
const { FROM_URL, FROM_API_KEY = null, TO_URL = "http://127.0.0.1:8123", TO_API_KEY = null } = process.env;
const assistants = process.argv.slice(2);
if (assistants.length === 0 || !FROM_URL) {
	console.error("usage: FROM_URL=http://... [TO_URL=http://...] move_threads.mjs ASSISTANT...");
	process.exit(2);
}
const from = new Client({ apiUrl: FROM_URL, apiKey: FROM_API_KEY });
const to = new Client({ apiUrl: TO_URL, apiKey: TO_API_KEY });

// Page by page, the oldest first: threads that are used meanwhile go to the end.
async function* threadsOf(assistant) {
	for (let offset = 0; ; offset += PAGE) {
		const page = await from.threads.search({
			metadata: { graph_id: assistant }, limit: PAGE, offset, sortBy: "created_at", sortOrder: "asc",
		});
		yield* page;
		if (page.length < PAGE) return;
	}
}

const isThere = (id) => to.threads.get(id).then(() => true, (error) => {
	if (error.status === 404) return false;
	throw error;
});

// Who wrote last: what is done stands at its end, what waits for a human, or has failed, behind the node that brought it there.
function writer({ values, next }) {
	const by = { ai: "model", tool: "tools" };
	return next.length === 0 ? "__end__" : by[values.messages?.at(-1)?.type] ?? "__start__";
}

// Returns what became of it.
async function move(assistant, { thread_id, status, metadata }) {
	if (status === "busy") return "busy";
	if (await isThere(thread_id)) return "known";
	const state = await from.threads.getState(thread_id);
	const update = { asNode: writer(state), values: state.values };
	await to.threads.create({
		threadId: thread_id, graphId: assistant, metadata,
		supersteps: Object.keys(state.values ?? {}).length > 0 ? [{ updates: [update] }] : [],
	});
	return "moved";
}

let failed = 0;
for (const assistant of assistants) {
	const count = { moved: 0, known: 0, busy: 0, failed: 0 };
	for await (const thread of threadsOf(assistant)) {
		const what = await move(assistant, thread).catch((error) => {
			console.error(`${thread.thread_id}: ${error.message}`);
			return "failed";
		});
		count[what]++;
		if (what === "busy") console.error(`${thread.thread_id}: is busy, and left where it is`);
	}
	console.log(`${assistant}: ${count.moved} moved, ${count.known} were there, ${count.busy} busy, ${count.failed} failed`);
	failed += count.failed;
}
process.exit(failed > 0 ? 1 : 0);
