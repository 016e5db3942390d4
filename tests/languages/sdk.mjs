// LangGraph's own client against `flotilla serve`: sdk.mjs URL [PART...], all at once. Says what of it is not as it expects.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import net from "node:net";
import { docs } from "./docs_page.mjs";
import { begun, collect, collectUntil, done, events, texts, textsOf } from "./sdk_kit.mjs";
import { page } from "./sdk_page.mjs";
import { told } from "./sdk_told.mjs";

const require = createRequire(new URL("../../examples/clients/javascript/chat.mjs", import.meta.url));
const { Client } = require("@langchain/langgraph-sdk");
const { StreamController } = require("@langchain/langgraph-sdk/stream");
const ui = require("@langchain/langgraph-sdk/ui");

const [url, ...wanted] = process.argv.slice(2);
const client = new Client({ apiUrl: url });
const input = { messages: [{ role: "user", content: "Hi" }] };

// A way to the server on which the first connection that carries a stream breaks, once it has shown so many frames.
function breaking(frames) {
	let left = frames;
	const server = net.createServer((here) => {
		const there = net.connect(Number(new URL(url).port), "127.0.0.1");
		const end = () => (here.destroy(), there.destroy());
		here.pipe(there);
		there.on("data", (bytes) => {
			left -= bytes.toString().split("event: messages").length - 1;
			here.write(bytes);
			if (left <= 0) {
				left = Infinity;
				server.hasBroken = true;
				setImmediate(end);
			}
		});
		for (const socket of [here, there]) socket.on("close", end).on("error", end);
	});
	return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const parts = {
	...told(client, input),
	...page(client, input, StreamController, ui),
	...docs(url),

	async stream() {
		const modes = ["values", "updates", "messages-tuple", "messages", "custom", "events", "debug", "tasks", "checkpoints"];
		const { thread_id: thread } = await client.threads.create();
		let created;
		const chunks = await collect(
			client.runs.stream(thread, "talker", { input, streamMode: modes, streamResumable: true, onRunCreated: (run) => (created = run) }),
		);
		const state = await client.threads.getState(thread);
		assert.equal(created.thread_id, thread);
		assert.equal(chunks[0].event, "metadata");
		assert.equal(chunks[0].data.run_id, created.run_id);
		assert.deepEqual(texts(chunks), textsOf(state.values));
		assert.deepEqual(events(chunks, "updates").map(({ data }) => Object.keys(data)[0]), ["model", "tools", "model"]);
		assert.deepEqual(events(chunks, "values").at(-1).data, state.values);
		const [, ...said] = state.values.messages;
		assert.deepEqual(events(chunks, "messages/complete").map(({ data }) => data), said.map((message) => [message]));
		assert.deepEqual(events(chunks, "messages/metadata").flatMap(({ data }) => Object.keys(data)), said.map(({ id }) => id));
		assert.equal(events(chunks, "messages/partial").at(-1).data[0].id, state.values.messages.at(-1).id);
		const calls = events(chunks, "messages").flatMap(({ data }) => data[0].tool_call_chunks ?? []);
		assert.deepEqual(calls.map(({ name, args }) => [name, JSON.parse(args)]), [["note", { text: "hello" }]]);
		assert.deepEqual(
			events(chunks, "tasks").map(({ data }) => `${data.name} ${"result" in data ? "ends" : "begins"}`),
			["model", "tools", "model"].flatMap((node) => [`${node} begins`, `${node} ends`]),
		);
		assert.deepEqual(events(chunks, "checkpoints").map(({ data }) => data.next), [["model"], ["tools"], ["model"], []]);
		assert.deepEqual(events(chunks, "checkpoints").at(-1).data.checkpoint, state.checkpoint);
		assert.deepEqual(events(chunks, "checkpoints").at(-1).data.values, state.values);
		assert.equal(events(chunks, "events").at(-1).data.event, "on_chain_end");
		assert.deepEqual(
			events(chunks, "debug").map(({ data }) => data.payload),
			chunks.filter(({ event }) => ["tasks", "checkpoints"].includes(event)).map(({ data }) => data),
		);
	},

	async wait() {
		const { thread_id: thread } = await client.threads.create({ metadata: { who: "me" } });
		const values = await client.runs.wait(thread, "quick", { input, metadata: { n: 1 }, config: { configurable: { x: 1 } } });
		assert.equal(values.messages.at(-1).content, "First.");
		assert.equal((await client.runs.wait(null, "quick", { input })).messages.length, 2);
		const run = await client.runs.create(thread, "quick", { input, multitaskStrategy: "enqueue" });
		assert.deepEqual(await client.runs.join(thread, run.run_id), (await client.threads.getState(thread)).values);
		assert.equal((await client.runs.get(thread, run.run_id)).status, "success");
		assert.deepEqual((await client.runs.list(thread)).map(({ run_id }) => run_id)[0], run.run_id);
		const { thread_id: other } = await client.threads.create();
		const slow = await client.runs.create(other, "slow", { input });
		await assert.rejects(client.runs.delete(other, slow.run_id), { status: 409 });
		await client.runs.cancel(other, slow.run_id, true);
		assert.equal((await client.runs.get(other, slow.run_id)).status, "interrupted");
		await client.runs.delete(other, slow.run_id);
		await assert.rejects(client.runs.get(other, slow.run_id), { status: 404 });
		assert.equal((await client.runs.createBatch([{ assistantId: "quick", input }, { assistantId: "quick", input }])).length, 2);
	},

	// A run begins at a node, with what is written before.
	async command() {
		const { thread_id: thread } = await client.threads.create();
		const values = await client.runs.wait(thread, "quick", { command: { goto: "model", update: input } });
		assert.deepEqual(values.messages.map(({ content }) => content), ["Hi", "First."]);
		const chunks = await collect(client.runs.stream(thread, "quick", { command: { goto: ["model"] }, streamMode: "updates" }));
		assert.equal(events(chunks, "updates")[0].data.model.messages[0].content, "Second.");
		for (const goto of ["tools", { node: "model", input: {} }, ["model", "tools"]])
			await assert.rejects(client.runs.create(thread, "quick", { command: { goto } }), { status: 422 });
	},

	// Who asks twice gets two answers, and the first nothing of the second.
	async twice() {
		const { thread_id: thread } = await client.threads.create();
		const ask = (agent) => client.runs.wait(thread, agent, { input, multitaskStrategy: "enqueue" });
		const first = client.runs.create(thread, "talker", { input });
		await first;
		const second = ask("quick");
		const joined = await client.runs.join(thread, (await first).run_id);
		assert.equal(joined.messages.length, 4);
		assert.equal((await second).messages.length, 6);
		assert.deepEqual((await second).messages.slice(0, 4), joined.messages);
		assert.deepEqual(await client.runs.join(thread, (await first).run_id), joined);
	},

	// All runs of a thread, one after the other, and from where one likes.
	async thread() {
		const { thread_id: thread } = await client.threads.create();
		const begin = (agent) => client.runs.create(thread, agent, { input, multitaskStrategy: "enqueue" });
		const ids = [(await begin("talker")).run_id, (await begin("quick")).run_id];
		const isAll = (chunks) => done(chunks).includes(ids[1]);
		const chunks = await collectUntil(client.threads.joinStream(thread, { lastEventId: "-1" }), isAll);
		const { values } = await client.threads.getState(thread);
		assert.deepEqual([begun(chunks), done(chunks)], [ids, ids]);
		assert.deepEqual(texts(chunks), textsOf(values));
		assert.deepEqual(events(chunks, "values").at(-1).data, values);
		const left = events(chunks, "values").findLast(({ id }) => id.startsWith(ids[0])).data;
		assert.deepEqual(left.messages, values.messages.slice(0, 4));
		const cut = chunks.findIndex(({ id }) => /:3:/.test(id)); // within the text of its third step
		const more = (lastEventId) =>
			collectUntil(client.threads.joinStream(thread, { lastEventId, streamMode: ["messages-tuple", "values"] }), isAll);
		const rest = await more(chunks[cut].id);
		assert.deepEqual(texts([...chunks.slice(0, cut + 1), ...rest]), textsOf(values));
		assert.deepEqual([begun(rest), done(rest)], [ids.slice(1), ids]);
		assert.deepEqual(begun(await more(chunks.find(({ data }) => data.status === "run_done").id)), ids.slice(1));
		assert.deepEqual(texts(await more("-1")), textsOf(values));
		await assert.rejects(collect(client.threads.joinStream(thread, { streamMode: "lifecycle" })), /stream_mode/);
		await assert.rejects(collect(client.threads.joinStream("nobody")), /nobody/);
	},

	// What goes on is shown, though what came behind it has ended, and what comes, though the runs before it have gone.
	async walk() {
		const { thread_id: thread } = await client.threads.create();
		const slow = await client.runs.create(thread, "slow", { input });
		await assert.rejects(client.runs.create(thread, "quick", { input, multitaskStrategy: "reject" }), { status: 409 });
		const [first] = await collect(client.threads.joinStream(thread), 1);
		assert.equal(first.data.run_id, slow.run_id);
		await client.runs.cancel(thread, slow.run_id, true);

		const { thread_id: other } = await client.threads.create();
		for (let i = 0; i < 3; i++) await client.runs.wait(other, "quick", { input });
		const stream = client.threads.joinStream(other, { lastEventId: "-1" });
		// Where the run is looked at between two steps, there are values of fewer messages first.
		const next = async (id, least = 0) => {
			for (;;) {
				const { value } = await stream.next();
				if (value.event === "values" && value.id.startsWith(id) && value.data.messages.length >= least) return value.data.messages.length;
			}
		};
		const before = (await client.runs.list(other)).map(({ run_id }) => run_id);
		await next(before[0]);
		await client.threads.prune([other], { strategy: "keep_latest" });
		const { run_id: after } = await client.runs.create(other, "quick", { input });
		assert.ok((await next(after)) >= 7);
		await client.runs.join(other, after);
		await client.threads.delete(other);
		await client.threads.create({ threadId: other });
		await client.runs.wait(other, "quick", { input });
		const [{ run_id: anew }] = await client.runs.list(other);
		assert.equal(await next(anew, 2), 2);
		await stream.return();
	},

	// What useStream of @langchain/react speaks: commands, and the events of all runs of a thread.
	async protocol() {
		const { thread_id: thread } = await client.threads.create();
		const post = (path, body) =>
			fetch(`${url}/threads/${thread}/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
		const command = async (method, params) => (await post("commands", { id: 1, method, params })).json();
		const open = (since) => post("stream/events", { channels: ["lifecycle", "messages", "values"], since });
		async function* follow(response) {
			assert.equal(response.status, 200);
			let text = "";
			for await (const bytes of response.body) {
				text += Buffer.from(bytes).toString();
				const frames = text.split("\n\n");
				text = frames.pop();
				for (const frame of frames) {
					const data = frame.split("\n").find((line) => line.startsWith("data: "));
					if (data !== undefined) yield JSON.parse(data.slice("data: ".length));
				}
			}
		}
		const ended = (times) => (all) => all.filter(({ method, params }) => method === "lifecycle" && params.data.event === "completed").length === times;
		const following = collectUntil(follow(await open()), ended(2));
		const begun = [];
		for (const agent of ["talker", "quick"]) begun.push(await command("run.start", { assistant_id: agent, input, multitask_strategy: "enqueue" }));
		for (const { type } of begun) assert.equal(type, "success");
		const all = await following;
		const values = all.filter(({ method }) => method === "values").map(({ params }) => params.data);
		assert.deepEqual(values.at(-1).messages.at(-1).content, "Third.");
		assert.ok(values.some(({ messages }) => messages.length === 4));
		const half = all.findIndex(({ method, params }) => method === "lifecycle" && params.data.event === "completed");
		const rest = await collectUntil(follow(await open(all[half].seq)), ended(1));
		const told = new Set(all.slice(0, half + 1).map(({ event_id }) => event_id));
		assert.ok(rest.every(({ event_id }) => !told.has(event_id)));
		const last = (events) => events.filter(({ method }) => method === "values").at(-1).params.data;
		assert.deepEqual(last(rest), last(all));
		assert.equal((await post("commands", { id: 1, method: "run.start", params: { assistant_id: "nobody", input } })).status, 404);
		assert.equal((await command("run.stop")).type, "error");
		assert.equal((await command("state.get")).result.values.messages.length, 6);
		// Where runs have gone in front, what comes next has ids that nothing before it had, also for who comes back.
		const start = () => command("run.start", { assistant_id: "quick", input });
		const stays = follow(await open());
		const until = async (done, all = []) => {
			while (!done(all)) all.push((await stays.next()).value);
			return all;
		};
		const lives = (events) => events.filter(({ method }) => method === "lifecycle").map(({ event_id }) => event_id);
		const page = await until(ended(1));
		await client.threads.prune([thread], { strategy: "keep_latest" });
		await start();
		const next = await until(ended(1));
		const seen = new Set(page.map(({ event_id }) => event_id));
		assert.ok(next.every(({ event_id, seq }) => !seen.has(event_id) && seq > page.at(-1).seq));
		assert.deepEqual(lives(await collectUntil(follow(await open(page.at(-1).seq)), ended(1))), lives(next));
		await client.threads.delete(thread);
		await client.threads.create({ threadId: thread });
		const again = await open(next.at(-1).seq);
		await start();
		assert.equal((await collectUntil(follow(again), ended(1)))[0].params.data.event, "running");
		await stays.return();
	},

	// Left in the middle of a text, and taken up again.
	async cut() {
		const { thread_id: thread } = await client.threads.create();
		const streamMode = ["messages-tuple", "updates"];
		let run;
		const first = await collect(
			client.runs.stream(thread, "talker", { input, streamMode, onDisconnect: "continue", onRunCreated: ({ run_id }) => (run = run_id) }),
			9,
		);
		const rest = await collect(client.runs.joinStream(thread, run, { lastEventId: first.at(-1).id, streamMode }));
		const { values } = await client.threads.getState(thread);
		assert.deepEqual(texts([...first, ...rest]), textsOf(values));
		assert.equal(events([...first, ...rest], "updates").length, 3);
		assert.equal(events(rest, "metadata").length, 0);
		const all = await collect(client.runs.joinStream(thread, run, { lastEventId: "-1", streamMode }));
		assert.deepEqual(texts(all), textsOf(values));
		assert.equal((await collect(client.runs.joinStream(thread, run, { lastEventId: "9999", streamMode }))).length, 0);
	},

	// The connection breaks, and the client finds the rest by itself.
	async reconnect() {
		const server = await breaking(7);
		const far = new Client({ apiUrl: `http://127.0.0.1:${server.address().port}` });
		const { thread_id: thread } = await client.threads.create();
		const chunks = await collect(far.runs.stream(thread, "talker", { input, streamMode: ["messages-tuple", "updates"] }));
		const { values } = await client.threads.getState(thread);
		assert.ok(server.hasBroken);
		assert.deepEqual(texts(chunks), textsOf(values));
		assert.deepEqual(events(chunks, "updates").map(({ data }) => Object.keys(data)[0]), ["model", "tools", "model"]);
		assert.equal(events(chunks, "metadata").length, 1);
		assert.equal(events(chunks, "values").length, 0); /* nobody asked for them */
		server.close();
	},

	// The same of streams that were joined.
	async rejoin() {
		const streamMode = ["messages-tuple", "updates"];
		const isAll = (chunks) => events(chunks, "updates").length === 3;
		for (const join of [
			(far, thread, run) => collect(far.runs.joinStream(thread, run, { streamMode })),
			(far, thread) => collectUntil(far.threads.joinStream(thread, { streamMode }), isAll),
		]) {
			const server = await breaking(2);
			const far = new Client({ apiUrl: `http://127.0.0.1:${server.address().port}` });
			const { thread_id: thread } = await client.threads.create();
			const { run_id: run } = await client.runs.create(thread, "talker", { input });
			const chunks = await join(far, thread, run);
			assert.ok(server.hasBroken);
			assert.deepEqual(texts(chunks), textsOf((await client.threads.getState(thread)).values));
			server.close();
		}
	},

	async interrupts() {
		const { thread_id: thread } = await client.threads.create();
		const chunks = await collect(client.runs.stream(thread, "approver", { input, streamMode: ["values", "updates"] }));
		const { __interrupt__: asks, ...left } = events(chunks, "values").at(-1).data;
		assert.deepEqual(left, (await client.threads.getState(thread)).values);
		assert.equal(asks[0].value.action_requests[0].name, "note");
		const { status, interrupts } = await client.threads.get(thread);
		assert.equal(status, "interrupted");
		assert.deepEqual(Object.values(interrupts), [asks]);
		const { next, tasks, interrupts: all } = await client.threads.getState(thread);
		assert.deepEqual(tasks[0].interrupts, asks);
		assert.deepEqual(all, asks);
		assert.deepEqual(next, [tasks[0].name]);
		const resume = { [asks[0].id]: { decisions: [{ type: "reject", message: "not now" }] } };
		const values = await client.runs.wait(thread, "approver", { input, command: { resume } }); // as pages do that send all they have
		assert.equal(values.messages.at(-1).content, "It is done.");
		assert.ok(values.messages.some(({ type, content }) => type === "tool" && content.includes("not now")));
		assert.equal((await client.threads.get(thread)).status, "idle");
	},

	async state() {
		const { thread_id: thread, values: none, interrupts } = await client.threads.create();
		assert.deepEqual([none, interrupts], [null, {}]);
		assert.deepEqual((await client.threads.getState(thread)).values, {});
		assert.deepEqual(await client.threads.getHistory(thread), []);
		await client.runs.wait(thread, "quick", { input });
		const state = await client.threads.getState(thread);
		const history = await client.threads.getHistory(thread, { limit: 100 });
		assert.deepEqual(history[0], state);
		assert.deepEqual(await client.threads.getState(thread, history[1].checkpoint), history[1]);
		assert.deepEqual(await client.threads.getState(thread, history[1].checkpoint.checkpoint_id), history[1]);
		const older = await client.threads.getHistory(thread, { before: { configurable: history[0].checkpoint } });
		assert.deepEqual(older, history.slice(1));
		const { checkpoint } = await client.threads.updateState(thread, { values: { messages: [{ type: "human", content: "More?" }] } });
		assert.deepEqual((await client.threads.getState(thread)).checkpoint, checkpoint);
		await client.runs.wait(thread, "quick", { input, checkpoint: state.checkpoint });
		assert.equal((await client.threads.getState(thread)).values.messages.length, 4);
		const updates = [{ command: { update: { messages: [{ type: "human", content: "Moved" }] } }, asNode: "__start__" }];
		assert.equal((await client.threads.create({ graphId: "quick", supersteps: [{ updates }] })).values.messages[0].content, "Moved");
		const copy = await client.threads.copy(thread);
		assert.equal(copy.values.messages.length, 4);
	},

	async search() {
		const mark = String(process.pid);
		const made = [];
		for (let n = 0; n < 3; n++) made.push((await client.threads.create({ metadata: { mark, n }, ttl: 60 })).thread_id);
		const found = await client.threads.search({ metadata: { mark }, limit: 10 });
		assert.deepEqual(found.map(({ thread_id }) => thread_id).sort(), made.sort());
		assert.equal(await client.threads.count({ metadata: { mark, n: 1 } }), 1);
		assert.deepEqual((await client.threads.update(made[0], { metadata: { more: true } })).metadata.more, true);
		assert.equal(await client.threads.update(made[0], { metadata: { less: true }, returnMinimal: true }), undefined);
		assert.equal((await client.threads.get(made[0])).metadata.less, true);
		assert.equal((await client.threads.create({ threadId: made[0], ifExists: "do_nothing" })).thread_id, made[0]);
		await client.threads.delete(made[0]);
		assert.equal(await client.threads.count({ metadata: { mark } }), 2);
		const assistants = await client.assistants.search({ limit: 100 });
		assert.ok(assistants.some(({ assistant_id }) => assistant_id === "talker"));
		assert.equal((await client.assistants.get("talker")).graph_id, "talker");
		assert.ok((await client.assistants.getGraph("talker")).nodes.length >= 4);
		assert.ok((await client.assistants.getSchemas("talker")).input_schema.properties.messages);
	},

	async assistants() {
		const metadata = { mark: `assistants-${process.pid}` };
		const made = await client.assistants.create({ graphId: "quick", context: { tone: "dry" }, metadata, name: "Dry", description: "of few words" });
		const id = made.assistant_id;
		assert.deepEqual([made.version, made.graph_id, made.name, made.description], [1, "quick", "Dry", "of few words"]);
		assert.deepEqual([made.context, made.config, made.metadata], [{ tone: "dry" }, { configurable: { tone: "dry" } }, metadata]);
		assert.deepEqual(await client.assistants.get(id), made);
		assert.deepEqual(await client.assistants.create({ graphId: "talker", assistantId: id, ifExists: "do_nothing" }), made);
		await assert.rejects(client.assistants.create({ graphId: "quick", assistantId: id }), { status: 409 });
		const changed = await client.assistants.update(id, { graphId: "talker", config: { configurable: { tone: "warm" } }, metadata: { more: true } });
		assert.deepEqual([changed.version, changed.graph_id, changed.name], [2, "talker", "Dry"]);
		assert.deepEqual([changed.context, changed.metadata], [{ tone: "warm" }, { ...metadata, more: true }]);
		assert.deepEqual((await client.assistants.getVersions(id)).map(({ version, graph_id }) => [version, graph_id]), [[2, "talker"], [1, "quick"]]);
		assert.equal((await client.assistants.getVersions(id, { metadata: { more: true } })).length, 1);
		assert.deepEqual((await client.assistants.setLatest(id, 1)).metadata, metadata);
		await assert.rejects(client.assistants.setLatest(id, 3), { status: 404 });
		assert.deepEqual((await client.assistants.search({ metadata })).map(({ assistant_id, version }) => [assistant_id, version]), [[id, 1]]);
		assert.equal(await client.assistants.count({ metadata, graphId: "quick", name: "dry" }), 1);
		const { next } = await client.assistants.search({ limit: 1, includePagination: true });
		assert.equal(next, "1");
		assert.ok((await client.assistants.getGraph(id)).nodes.length >= 3);
		assert.equal((await client.assistants.getSchemas(id)).graph_id, "quick");
		assert.deepEqual(await client.assistants.getSubgraphs(id), {});

		const { thread_id: thread } = await client.threads.create();
		assert.equal((await client.runs.wait(thread, id, { input })).messages.at(-1).content, "First.");
		assert.equal((await client.runs.list(thread))[0].assistant_id, id);
		const about = (await client.threads.get(thread)).metadata;
		assert.deepEqual([about.assistant_id, about.graph_id], [id, "quick"]);
		assert.equal((await client.runs.createBatch([{ assistantId: id, input }]))[0].assistant_id, id);
		const cron = await client.crons.create(id, { schedule: "@yearly", input });
		assert.deepEqual(await client.crons.search({ assistantId: id }), [cron]);

		// Of those that come at once one makes it, and each change has a number of its own.
		const assistantId = `once-${process.pid}`;
		const all = (count, call) => Promise.allSettled(Array.from({ length: count }, call));
		const begun = await all(8, () => client.assistants.create({ graphId: "quick", assistantId, metadata }));
		assert.deepEqual(begun.map(({ status }) => status).sort(), ["fulfilled", ...Array(7).fill("rejected")]);
		const numbers = (await all(6, (_, n) => client.assistants.update(assistantId, { metadata: { [n]: n } }))).map(({ value }) => value.version);
		assert.equal((await client.assistants.getVersions(assistantId)).length, 7);
		assert.ok(numbers.every((number) => number >= 2 && number <= 7));
		for (let n = 0; n < 6; n++) assert.equal((await client.assistants.get(assistantId)).metadata[n], n);
		const [gone, ...late] = await Promise.allSettled([
			client.assistants.delete(assistantId),
			...Array.from({ length: 4 }, () => client.assistants.update(assistantId, { name: "Late" })),
		]);
		assert.equal(gone.status, "fulfilled");
		for (const { status, reason } of late) assert.ok(status === "fulfilled" || reason.status === 404);
		await assert.rejects(client.assistants.get(assistantId), { status: 404 });

		await client.assistants.delete(id, { deleteThreads: true });
		await assert.rejects(client.threads.get(thread), { status: 404 });
		assert.equal(await client.crons.count({ assistantId: id }), 0);
		await assert.rejects(client.runs.create(null, id, { input }), { status: 404 });
		await assert.rejects(client.assistants.delete("quick"), { status: 403 });
		assert.equal(await client.assistants.count({ metadata }), 0);
	},

	async store() {
		const space = ["sdk", String(process.pid)];
		await client.store.putItem(space, "prefs", { color: "blue" });
		const item = await client.store.getItem(space, "prefs");
		assert.deepEqual(item.value, { color: "blue" });
		assert.ok(!Number.isNaN(Date.parse(item.createdAt)));
		assert.equal((await client.store.searchItems(space, { filter: { color: "blue" } })).items.length, 1);
		await client.store.putItem(space, "pets", { dog: "Rex" });
		const found = await client.store.searchItems(space, { query: "a blue color" });
		assert.deepEqual(found.items.map(({ key }) => key), ["prefs", "pets"]);
		assert.ok(found.items[0].score > found.items[1].score);
		await client.store.deleteItem(space, "pets");
		assert.deepEqual((await client.store.listNamespaces({ prefix: ["*"], suffix: [space[1]] })).namespaces, [space]);
		assert.deepEqual((await client.store.listNamespaces({ prefix: space })).namespaces, [space]);
		await client.store.deleteItem(space, "prefs");
		assert.equal((await client.store.searchItems(space)).items.length, 0);
	},

	async crons() {
		const { thread_id: thread } = await client.threads.create();
		const metadata = { mark: `crons-${process.pid}` };
		const cron = await client.crons.create("quick", { schedule: "0 3 * * *", timezone: "Europe/Berlin", input, metadata });
		const onThread = await client.crons.createForThread(thread, "quick", { schedule: "@hourly", input, metadata, enabled: false });
		assert.equal(cron.on_run_completed, "delete");
		assert.ok(Date.parse(cron.next_run_date) > Date.now());
		assert.deepEqual(cron.payload.input, input);
		assert.equal(onThread.thread_id, thread);
		assert.equal(onThread.next_run_date, null);
		assert.equal(await client.crons.count({ metadata }), 2);
		assert.deepEqual(await client.crons.search({ threadId: thread }), [onThread]);
		assert.deepEqual(await client.crons.search({ metadata, sortBy: "created_at", sortOrder: "asc" }), [cron, onThread]);
		const endTime = "2100-01-01T00:00:00.000Z";
		const changed = await client.crons.update(cron.cron_id, { schedule: "30 4 * * mon", endTime, onRunCompleted: "keep" });
		assert.deepEqual([changed.schedule, changed.end_time, changed.on_run_completed], ["30 4 * * mon", endTime, "keep"]);
		assert.deepEqual(changed.payload.input, input);
		assert.equal((await client.crons.update(cron.cron_id, { endTime: null })).end_time, null);
		for (const { cron_id } of [cron, onThread]) await client.crons.delete(cron_id);
		assert.equal(await client.crons.count({ metadata }), 0);
	},

	async errors() {
		const fails = (call, status, words) =>
			assert.rejects(call, (error) => error.status === status && error.message.includes(words));
		const { thread_id: thread } = await client.threads.create();
		await fails(client.threads.get("nobody"), 404, "nobody");
		await fails(client.runs.wait(null, "nobody", { input }), 404, "no agent 'nobody'");
		await fails(client.runs.get(thread, "nobody"), 404, "Run not found");
		await fails(client.threads.create({ threadId: thread }), 409, "already exists");
		await fails(client.runs.create(thread, "quick", { input, interruptBefore: "tools" }), 422, "interrupt_before");
		await fails(client.runs.create(thread, "quick", { input: null }), 422, "input");
		assert.equal(await client.store.getItem(["nobody"], "x"), null);
		await fails(client.crons.create("quick", { schedule: "61 * * * *", input }), 422, "minute '61'");
		await fails(client.crons.delete("nobody"), 404, "Cron not found");
		await fails(collect(client.runs.stream(thread, "quick", { input, streamMode: "all" })), 422, "stream_mode");
		await assert.rejects(client.runs.wait(thread, "broken", { input }), /no such key/);
		const chunks = await collect(client.runs.stream(thread, "broken", { input }));
		assert.match(chunks.at(-1).data.message, /no such key/);
		assert.equal((await client.threads.get(thread)).status, "error");
	},
};

// Says which part it is that waits for ever.
const WAIT_MS = 120000;

async function play(part) {
	const waits = setTimeout(() => (console.error(`${part}: waits still`), process.exit(1)), WAIT_MS);
	try {
		await parts[part]();
		clearTimeout(waits);
	} catch (error) {
		console.error(`${part}: ${error.stack}`);
		process.exitCode = 1;
	}
}

await Promise.all((wanted.length > 0 ? wanted : Object.keys(parts)).map(play));
process.exit(); // a stream that was left is open still
