// The page GET /docs, as far as it can be had without a browser: its script makes a form for each call, which asks what is written in it.
import assert from "node:assert/strict";
import vm from "node:vm";

class Element {
	constructor(name) {
		Object.assign(this, { tagName: name.toUpperCase(), children: [], listeners: {}, value: "" });
	}
	append(...children) {
		this.children.push(...children);
	}
	replaceChildren(...children) {
		this.children = children;
	}
	addEventListener(event, listener) {
		this.listeners[event] = listener;
	}
	set textContent(text) {
		this.children = [text];
	}
	get textContent() {
		return this.children.map((child) => child.textContent ?? child).join("");
	}
	all(name) {
		const below = this.children.filter((child) => child instanceof Element);
		return [...below.filter(({ tagName }) => tagName === name), ...below.flatMap((child) => child.all(name))];
	}
}

export const docs = (url) => ({
	async docs() {
		const script = (await (await fetch(`${url}/docs`)).text()).match(/<script>([^]*)<\/script>/)[1];
		const byId = Object.fromEntries(["main", "key", "title", "version"].map((id) => [id, new Element("div")]));
		const asked = [];
		const document = { getElementById: (id) => byId[id] ?? null, createElement: (name) => new Element(name) };
		vm.runInNewContext(script, {
			document,
			location: { hash: "" },
			AbortController,
			TextDecoder,
			URLSearchParams,
			fetch: (path, { method = "GET", ...options }) => (asked.push(`${method} ${path}`), fetch(url + path, { method, ...options })),
		});
		while (byId.main.all("DETAILS").length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
		const calls = byId.main.all("DETAILS");
		assert.ok(calls.length > 60);
		for (const call of calls) {
			call.listeners.toggle();
			const names = call.all("INPUT").map(({ ariaLabel }) => ariaLabel);
			for (const [, name] of call.all("CODE")[0].textContent.matchAll(/\{(.*?)\}/g)) assert.ok(names.includes(name), `${call.id}: ${name}`);
		}
		const call = calls.find(({ id }) => id === "list_runs");
		for (const [name, value] of [["thread_id", "a b"], ["limit", "3"]]) call.all("INPUT").find(({ ariaLabel }) => ariaLabel === name).value = value;
		await call.all("BUTTON")[0].onclick();
		assert.equal(asked.at(-1), "GET /threads/a%20b/runs?limit=3");
		assert.match(call.all("PRE")[0].textContent, /^404[^]*Thread with ID a b not found/);
	},
});
