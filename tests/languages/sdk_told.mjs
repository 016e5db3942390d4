// Parts of sdk.mjs: what the modes `events` and `tools` tell of a run, what is left of one that was rolled back, and a past that is gone back to.
import assert from "node:assert/strict";
import { begun, collect, collectUntil, done, events, texts, textsOf } from "./sdk_kit.mjs";

export const told = (client, input) => ({
	// As LangChain's callbacks tell of it: the graph, its nodes, and the models and tools within.
	async callbacks() {
		const streamMode = ["events", "tools"];
		const { thread_id: thread } = await client.threads.create();
		let run;
		const chunks = await collect(client.runs.stream(thread, "talker", { input, streamMode, onRunCreated: ({ run_id }) => (run = run_id) }));
		const { values } = await client.threads.getState(thread);
		const told = (some) => {
			const said = events(some, "events").map(({ data }) => `${data.event} ${data.name}`);
			return said.filter((text, i) => text !== said[i - 1]); // pieces of a text as one
		};
		const model = ["on_chain_start model", ...["start", "stream", "end"].map((what) => `on_chat_model_${what} ChatModel`), "on_chain_end model"];
		const tools = ["on_chain_start tools", "on_tool_start note", "on_tool_end note", "on_chain_end tools"];
		const all = ["on_chain_start talker", ...model, ...tools, ...model, "on_chain_end talker"];
		assert.deepEqual(told(chunks), all);
		const of = (kind) => events(chunks, "events").map(({ data }) => data).filter(({ event }) => event === kind);
		assert.equal(of("on_chain_start")[0].run_id, run);
		assert.equal(of("on_chain_start")[0].data.input.messages[0].content, "Hi");
		assert.deepEqual(of("on_chain_end").at(-1).data.output, values);
		assert.deepEqual(of("on_chain_start")[1].data.input.messages, values.messages.slice(0, 1));
		assert.deepEqual(of("on_chain_end")[0].data.output.messages, values.messages.slice(1, 2));
		assert.deepEqual(of("on_chat_model_start")[1].data.input.messages, [values.messages.slice(0, 3)]);
		assert.deepEqual(of("on_chat_model_end").map(({ data }) => data.output), [values.messages[1], values.messages[3]]);
		assert.deepEqual(of("on_tool_start")[0].data.input, { text: "hello" });
		assert.deepEqual(of("on_tool_end")[0].data, { output: values.messages[2], input: { text: "hello" } });
		const pieces = of("on_chat_model_stream").map(({ data }) => ({ event: "messages", data: [data.chunk] }));
		const { [values.messages[2].id]: _, ...said } = textsOf(values);
		assert.deepEqual(texts(pieces), said);
		assert.ok(pieces.length > 3);
		assert.deepEqual(pieces.flatMap(({ data }) => data[0].tool_call_chunks).map(({ name, id }) => [name, id]), [["note", "n"]]);
		// What ends has begun, and everything names what it is within.
		const open = new Map();
		for (const { data } of events(chunks, "events")) {
			if (data.event.endsWith("_start")) open.set(data.run_id, data.name);
			assert.equal(open.get(data.run_id), data.name);
			for (const parent of data.parent_ids) assert.ok(open.has(parent));
			if (data.event.endsWith("_end")) open.delete(data.run_id);
			assert.equal(data.metadata.thread_id, thread);
		}
		assert.equal(open.size, 0);
		assert.deepEqual([of("on_chain_start")[1].metadata.langgraph_node, of("on_chain_start")[1].tags], ["model", ["graph:step:1"]]);
		assert.deepEqual(events(chunks, "tools").map(({ data }) => data), [
			{ event: "on_tool_start", toolCallId: "n", name: "note", input: '{"text":"hello"}' },
			{ event: "on_tool_end", toolCallId: "n", name: "note", output: values.messages[2] },
		]);
		// Later on the same.
		assert.deepEqual(told(await collect(client.runs.joinStream(thread, run, { lastEventId: "-1", streamMode }))), all);

		const { thread_id: asked } = await client.threads.create();
		const ask = (more) => collect(client.runs.stream(asked, "approver", { ...more, streamMode: "events" }));
		const paused = events(await ask({ input }), "events").at(-1).data;
		assert.equal(paused.event, "on_chain_end");
		assert.equal(paused.data.output.__interrupt__.length, 1);
		const rest = told(await ask({ command: { resume: { decisions: [{ type: "reject", message: "no" }] } } }));
		const hook = ["start", "end"].map((what) => `on_chain_${what} human_in_the_loop.after_model`);
		assert.deepEqual(rest.slice(-8), [...model, ...hook, "on_chain_end approver"]);
	},

	// What was rolled back is deleted: nobody is shown it who was not there.
	async rollback() {
		const { thread_id: thread } = await client.threads.create();
		await client.runs.wait(thread, "quick", { input });
		const slow = await client.runs.create(thread, "slow", { input });
		const live = client.threads.joinStream(thread);
		assert.equal((await live.next()).value.data.run_id, slow.run_id);
		const waiting = await client.runs.create(thread, "quick", { input });
		await client.runs.cancel(thread, waiting.run_id, true, "rollback");
		const last = await client.runs.create(thread, "quick", { input, multitaskStrategy: "rollback" });
		await client.runs.join(thread, last.run_id);
		for (const { run_id } of [slow, waiting]) await assert.rejects(client.runs.get(thread, run_id), { status: 404 });
		const ids = (await client.runs.list(thread)).map(({ run_id }) => run_id).reverse();
		assert.deepEqual([ids.length, ids[1]], [2, last.run_id]);
		const isAll = (chunks) => done(chunks).includes(last.run_id);
		const all = await collectUntil(client.threads.joinStream(thread, { lastEventId: "-1" }), isAll);
		assert.deepEqual([begun(all), done(all)], [ids, ids]);
		// Who was there goes on with what came behind it.
		const seen = await collectUntil(live, isAll);
		assert.deepEqual([begun(seen), done(seen)], [[last.run_id], [slow.run_id, last.run_id]]);
		const rest = await collectUntil(client.threads.joinStream(thread, { lastEventId: `${slow.run_id}/1` }), isAll);
		assert.deepEqual(begun(rest), [last.run_id]);
	},

	// The steps of LangGraph's page on time travel, and the same by what the types of the SDK say that an update is answered by.
	async travel() {
		const { thread_id: thread } = await client.threads.create();
		await client.runs.wait(thread, "quick", { input });
		const states = await client.threads.getHistory(thread);
		const values = { messages: [{ role: "user", content: "Bye" }] };
		const change = () => client.threads.updateState(thread, { values, checkpointId: states[1]["checkpoint_id"] });
		const changed = await change();
		const said = await client.runs.wait(thread, "quick", { input: null, checkpointId: changed["checkpoint_id"] });
		assert.deepEqual(said.messages.map(({ content }) => content), ["Hi", "Bye", "First."]);
		const { configurable } = await change();
		await client.runs.wait(thread, "quick", { input: null, config: { configurable } });
		const [last, before] = await client.threads.getHistory(thread);
		assert.deepEqual(last.values.messages.map(({ content }) => content), ["Hi", "Bye", "First."]);
		assert.deepEqual([last.parent_checkpoint_id, before.parent_checkpoint_id], [before.checkpoint_id, configurable.checkpoint_id]);
		assert.deepEqual(await client.threads.getState(thread, before.checkpoint_id), before);
	},
});
