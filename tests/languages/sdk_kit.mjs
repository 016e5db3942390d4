// What the parts of sdk.mjs share: streams collected, and what they have told.

// Each message's pieces put together, by id.
export function texts(chunks) {
	const all = new Map();
	for (const { event, data } of chunks)
		if (event === "messages") all.set(data[0].id, (all.get(data[0].id) ?? "") + data[0].content);
	return Object.fromEntries(all);
}

// The same of a state; a human's is no piece.
export function textsOf({ messages }) {
	return Object.fromEntries(messages.filter(({ type }) => type !== "human").map(({ id, content }) => [id, content]));
}

export const events = (chunks, event) => chunks.filter((chunk) => chunk.event === event);

// The runs that a thread's stream has begun to show, and those that it has said are done.
const runsOf = (chunks, isOf) => events(chunks, "metadata").flatMap(({ data }) => (isOf(data) ? [data.run_id] : []));
export const begun = (chunks) => runsOf(chunks, ({ attempt }) => attempt === 1);
export const done = (chunks) => runsOf(chunks, ({ status }) => status === "run_done");

export async function collect(stream, most = Infinity) {
	const chunks = [];
	for await (const chunk of stream) if (chunks.push(chunk) >= most) break;
	return chunks;
}

export async function collectUntil(stream, isAll) {
	const chunks = [];
	for await (const chunk of stream) {
		chunks.push(chunk);
		if (isAll(chunks)) break;
	}
	return chunks;
}
