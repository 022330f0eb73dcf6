import { expect, it } from "vitest";
import { systemClock } from "../../clock.ts";
import { cancelJob } from "./cancel.ts";

it("kill: does not end the server if the job has ended while its route was called", async () => {
	const ended = new AbortController();
	const calls: string[] = [];
	const hasEnded = await cancelJob({
		cancel: { call: undefined, ending: "kill", waitMs: 5000 },
		isAsync: false,
		callRoute: async () => ended.abort(),
		close: () => void calls.push("close"),
		ended: ended.signal,
		kill: () => void calls.push("kill"),
		clock: systemClock,
		log: () => {},
	});
	expect([calls, hasEnded]).toEqual([["close"], true]);
});
