/** The memory by which the database thread learns of turns of the service. */
import { on } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it, onTestFinished } from "vitest";
import { turnReader, turnMemory, turnWriter } from "./turn.ts";

it("T11: without a turn there is nothing to wait for, and an event since then is noticed at once", () => {
	const memory = turnMemory();
	const [writer, reader] = [turnWriter(memory), turnReader(memory)];
	expect(reader.waitForEvent(reader.events())).toBe(false);
	writer.begin();
	for (const step of [writer.messageSent, writer.end]) {
		const events = reader.events();
		step();
		expect(reader.waitForEvent(events)).toBe(true);
	}
	expect(reader.waitForEvent(reader.events())).toBe(false);
});

it("T11: a turn that does not end is waited for, but not forever", () => {
	const memory = turnMemory();
	turnWriter(memory).begin();
	const reader = turnReader(memory, 1);
	expect(reader.waitForEvent(reader.events())).toBe(false);
});

it("T11: a message and the end of the turn wake a thread that waits", async () => {
	const memory = turnMemory();
	const writer = turnWriter(memory);
	const code = `
		const { parentPort, workerData } = require("node:worker_threads");
		import(workerData.file).then(({ turnReader }) => {
			const turn = turnReader(workerData.memory, Infinity);
			for (;;) {
				const events = turn.events();
				parentPort.postMessage("looks");
				if (!turn.waitForEvent(events)) return parentPort.postMessage("commits");
			}
		});`;
	writer.begin();
	const file = new URL("./turn.ts", import.meta.url).href;
	const thread = new Worker(code, { eval: true, workerData: { memory, file } });
	onTestFinished(async () => void (await thread.terminate()));
	// Not `once` for each: when a thread ends, Node emits its remaining messages in one turn.
	const words = on(thread, "message");
	const word = async (): Promise<unknown> => ((await words.next()).value as unknown[])[0];
	expect(await word()).toBe("looks");
	writer.messageSent();
	expect(await word()).toBe("looks");
	writer.end();
	expect(await word()).toBe("looks");
	expect(await word()).toBe("commits");
});
