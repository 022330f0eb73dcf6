import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../kernel/events.ts";
import { createAlerts } from "./alerts.ts";

it("D53: without settings no alerts are listed, also none of before; silences are", async () => {
	const alert = { name: "SluiceSwaps", labels: {}, value: 1, since: 0, owed: [] };
	const stored = { alerts: [alert], silences: [{ name: "SluiceSwaps", until: Number.MAX_SAFE_INTEGER }] };
	const clock = manualClock();
	const deps = {
		now: clock.now,
		clock,
		events: eventBus(),
		store: { documents: { read: async () => JSON.stringify(stored) } },
	};
	const listed = (more: object) =>
		createAlerts({ ...deps, ...more } as unknown as Parameters<typeof createAlerts>[0]).list();
	expect(await listed({})).toEqual({ ...stored, alerts: [] });
	expect(await listed({ settings: { receivers: [], rules: new Map(), repeatMs: 1 } })).toEqual(stored);
});
