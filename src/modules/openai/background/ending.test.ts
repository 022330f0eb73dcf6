import { expect, it } from "vitest";
import { chunkEvents } from "./ending.ts";
import { eventLog } from "./event-log.ts";

it("D58, D41: other requests run while a chunk of very many events is read", async () => {
	const log = eventLog({ id: "resp_ours", createdAt: 5, store: true, stream: true, repeated: '"model":"m"' });
	const chunk = JSON.stringify({ output: Array.from({ length: 10_000 }, () => ({ type: "a" })) });
	let turns = 0;
	let isOver = false;
	const count = (): void => {
		turns += 1;
		if (!isOver) setImmediate(count);
	};
	setImmediate(count);
	let events = 0;
	for await (const { type } of chunkEvents(log, { chunks: [chunk], next: 1 })) events += Number(type === "a");
	isOver = true;
	expect(events).toBe(10_000);
	expect(turns).toBeGreaterThan(50);
});
