// What useStream is made of: a page's controller, which follows a thread by two streams that show different things.
import assert from "node:assert/strict";
import { collect, events } from "./sdk_kit.mjs";

const textOf = ({ content }) => (typeof content === "string" ? content : content.map(({ text = "" }) => text).join(""));

export const page = (client, input, StreamController, { StreamManager, MessageTupleManager }) => {
	function open(assistantId) {
		const created = [], completed = [];
		let wake = () => {};
		const controller = new StreamController({
			client,
			assistantId,
			onCreated: ({ runId }) => created.push(runId),
			onCompleted: ({ runId, reason }) => (completed.push([runId, reason]), wake()),
		});
		controller.rootStore.subscribe(() => wake());
		const state = () => controller.rootStore.getSnapshot();
		// Until something is so of what is shown, or so many runs have ended.
		const until = async (wanted, times = 0) => {
			while (!wanted(state()) || completed.length < times) {
				assert.equal(state().error, undefined);
				await new Promise((resolve) => (wake = resolve));
			}
		};
		return { controller, created, completed, state, until };
	}

	return {
		// Each run that it submits ends for it by its own end, and no text is there twice.
		async page() {
			const { controller, created, completed, state, until } = open("quick");
			for (const times of [1, 2, 3]) {
				await controller.submit({ messages: [{ type: "human", content: `Hi ${times}` }] });
				await until(({ messages }) => messages.length >= 2 * times, times);
			}
			assert.equal(new Set(created).size, 3);
			assert.deepEqual(completed, created.map((run) => [run, "success"]));
			assert.deepEqual(state().messages.map(textOf), ["Hi 1", "First.", "Hi 2", "Second.", "Hi 3", "Third."]);
			await controller.dispose();
		},

		// A pause is answered, and what goes on behind it ends.
		async answer() {
			const { controller, completed, state, until } = open("approver");
			await controller.submit(input);
			await until(({ interrupts }) => interrupts.length > 0, 1);
			assert.equal(state().interrupts[0].value.action_requests[0].name, "note");
			await controller.respond({ decisions: [{ type: "approve" }] });
			await until(({ interrupts, isLoading, messages }) => interrupts.length === 0 && !isLoading && textOf(messages.at(-1)) === "It is done.");
			// Whether the controller says that the run behind it has completed depends on which of its streams is faster.
			assert.equal(completed[0][1], "interrupt");
			assert.equal(state().error, undefined);
			await controller.dispose();
		},

		// What the older useStream is made of takes the state from the frames before a pause's, and of that what is asked alone.
		async question() {
			const { thread_id: thread } = await client.threads.create();
			const chunks = await collect(client.runs.stream(thread, "approver", { input, streamMode: ["values", "updates"] }));
			const manager = new StreamManager(new MessageTupleManager(), {});
			const options = { callbacks: {}, onError: assert.ifError };
			await manager.start(async () => chunks, { ...options, getMessages: ({ messages }) => messages ?? [] });
			assert.deepEqual(manager.values, events(chunks, "values").at(-1).data);
			assert.deepEqual(manager.values.messages, (await client.threads.getState(thread)).values.messages);
		},
	};
};
