/** The log: a line per event, each with its time. */
import { expect, it } from "vitest";
import { manualClock } from "../test/support/manual-clock.ts";
import { eventBus } from "./events.ts";
import { log } from "./log.ts";

it("a worker's words stay on their line, whatever they hold", () => {
	const events = eventBus();
	const clock = manualClock();
	const lines: string[] = [];
	log({ events, clock, write: (line) => lines.push(line) });
	events.emit("worker.unhealthy", {
		endpoint: "e",
		worker: "w",
		reason: "disk: full\n2026-01-01T00:00:00.000Z the store can be written again\r\u001b[2K\u2028",
	});
	const time = new Date(clock.now()).toISOString();
	expect(lines).toEqual([
		`${time} e: worker w is unhealthy: disk: full 2026-01-01T00:00:00.000Z the store can be written again [2K \n`,
	]);
});
