import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../events.ts";
import { printEvents } from "./log-lines.ts";

it("D36: a job is printed as queued before it is printed as started, once, in any order of events", () => {
	const events = eventBus();
	const lines: string[] = [];
	printEvents({
		events,
		clock: manualClock(),
		errorOf: async () => undefined,
		print: (line) => lines.push(line),
	});
	const [endpoint, worker, state] = ["ep", "w", "COMPLETED"] as const;
	const started = (id: string): void =>
		events.emit("job.started", { endpoint, id, worker, attempt: 1, waitedMs: 0 });
	const queued = (id: string): void => events.emit("job.queued", { endpoint, id });
	const settled = (id: string): void => events.emit("job.settled", { endpoint, id, state });
	// Of one commit: a worker that gets a job is answered first.
	started("a");
	queued("a");
	queued("b");
	started("b");
	events.emit("job.returned", { endpoint, id: "b", worker, why: "lost" });
	started("b");
	settled("a");
	queued("a");
	started("a");
	expect(lines).toEqual([
		"job a queued",
		"job a started",
		"job b queued",
		"job b started",
		"job b requeued",
		"job b started",
		"job a done in 0 ms",
		"job a queued",
		"job a started",
	]);
});
