/** The bus: who hears what, in which order, until when. */
import { describe, expect, it } from "vitest";
import { eventBus } from "./events.ts";

describe("eventBus", () => {
	it("calls listeners of the event in the order they came, with its facts", () => {
		const bus = eventBus();
		const heard: string[] = [];
		bus.on("job.queued", ({ id }) => heard.push(`first ${id}`));
		bus.on("job.queued", ({ id }) => heard.push(`second ${id}`));
		bus.on("store.back", () => heard.push("other"));
		bus.emit("job.queued", { endpoint: "e", id: "j" });
		expect(heard).toEqual(["first j", "second j"]);
	});

	it("does nothing when no server listens", () => {
		expect(() => eventBus().emit("store.back", {})).not.toThrow();
	});

	it("sends every event to those who listen for any", () => {
		const bus = eventBus();
		const heard: unknown[] = [];
		const remove = bus.onAny((name, facts) => heard.push([name, facts]));
		bus.emit("store.away", { why: "full" });
		bus.emit("store.back", {});
		remove();
		bus.emit("store.back", {});
		expect(heard).toEqual([
			["store.away", { why: "full" }],
			["store.back", {}],
		]);
	});

	it("no longer calls a listener that was removed, not even one removed by an earlier listener", () => {
		const bus = eventBus();
		const heard: string[] = [];
		const removeFirst = bus.on("store.back", () => {
			heard.push("first");
			removeSecond();
		});
		const removeSecond = bus.on("store.back", () => heard.push("second"));
		bus.emit("store.back", {});
		removeFirst();
		bus.emit("store.back", {});
		expect(heard).toEqual(["first"]);
	});

	it("buses know nothing of each other", () => {
		const heard: string[] = [];
		eventBus().on("store.back", () => heard.push("heard"));
		eventBus().emit("store.back", {});
		expect(heard).toEqual([]);
	});
});
