/** What is listed, with and without settings, and of other servers (D53). */
import { expect, it } from "vitest";
import { manualClock } from "../../../test/support/manual-clock.ts";
import { eventBus } from "../../kernel/events.ts";
import { createAlerts } from "./alerts.ts";

const alertOf = (endpoint: string) => ({ name: "SluiceSwaps", labels: { endpoint }, value: 1, since: 0 });
const silences = [{ name: "SluiceSwaps", until: Number.MAX_SAFE_INTEGER }];

function listed(more: object) {
	const clock = manualClock();
	const texts: Record<string, string> = {
		"alerts.silences": JSON.stringify(silences),
		"alerts.firing": JSON.stringify({ own: [alertOf("resolved")], other: [alertOf("e")], ended: [alertOf("f")] }),
	};
	const d = {
		now: clock.now,
		clock,
		events: eventBus(),
		store: { documents: { read: async (name: string) => texts[name] } },
		cluster: { shared: true, id: "own", members: () => ["own", "other"].map((id) => ({ id, self: id === "own" })) },
		...more,
	};
	return createAlerts(d as unknown as Parameters<typeof createAlerts>[0]).list();
}

it("D53: without settings no alerts are listed; silences are", async () => {
	expect(await listed({})).toEqual({ alerts: [], silences });
});

it("D53: listed is what fires at this server now, and what others that are alive have written", async () => {
	expect(await listed({ settings: { receivers: [], rules: new Map(), repeatMs: 1 } })).toEqual({
		alerts: [alertOf("e")],
		silences,
	});
});
