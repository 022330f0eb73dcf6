/** Signals that were lost with a commit whose outcome is unknown, where one server has the store alone (D16, D18). */
import { expect, it } from "vitest";
import { given } from "../../../../test/support/given.ts";
import { eventBus } from "../../events.ts";
import { catchUp } from "./catch-up.ts";

it("D18: reads what signals would have announced when they are lost", () => {
	const events = eventBus();
	const ran: string[] = [];
	const d = given<Parameters<typeof catchUp>[0]>({
		events,
		store: {},
		jobs: { catchUp: () => Promise.resolve() },
		background: { run: (name) => void ran.push(name) },
	});
	expect(catchUp(d)).toEqual([]);
	events.emit("signals.lost", {});
	expect(ran).toEqual(["reading what lost signals would have announced"]);
});
