/** The document of alerts while the store is unavailable, and changed by other servers (D53). */
import { expect, it } from "vitest";
import type { Alert, AlertState } from "./state.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import { alertDocument } from "./document.ts";

const alertOf = (endpoint: string, value: number): Alert => ({
	name: "SluiceOldestWait",
	labels: { endpoint },
	value,
	since: 0,
	owed: [],
});
const withAlert =
	(alert: Alert) =>
	({ alerts, silences }: AlertState): AlertState => ({ alerts: [...alerts, alert], silences });

function bed() {
	const store = { text: undefined as string | undefined, up: true, beforeReplace: () => {} };
	const reachable = (): void => {
		if (!store.up) throw new StoreUnavailable("unreachable", "down");
	};
	const documents = {
		async read() {
			reachable();
			return store.text;
		},
		async replace({ from, to }: { from: string | undefined; to: string }) {
			reachable();
			store.beforeReplace();
			if (store.text !== from) return false;
			store.text = to;
			return true;
		},
	};
	const document = alertDocument({ store: { documents } } as unknown as EngineContext, ({ labels }) =>
		labels["endpoint"]!.startsWith("own"),
	);
	const stored = (): number[] => (JSON.parse(store.text!) as AlertState).alerts.map(({ value }) => value);
	return { store, document, stored };
}

it("D53: a change that another server was faster with is made again on top of its change", async () => {
	const { store, document, stored } = bed();
	store.beforeReplace = () => {
		store.beforeReplace = () => {};
		store.text = JSON.stringify({ alerts: [alertOf("other", 1)], silences: [] });
	};
	await document.update(withAlert(alertOf("own", 2)));
	expect(stored()).toEqual([1, 2]);
});

it("D53: in an outage this server's alerts change in memory, and replace those in the store afterwards", async () => {
	const { store, document, stored } = bed();
	await document.update(withAlert(alertOf("own", 1)));
	store.up = false;
	await expect(document.update((state) => state)).rejects.toThrow(StoreUnavailable);
	await document.updateAnyway(({ silences }) => ({ alerts: [alertOf("own", 2)], silences }));
	await document.updateAnyway(withAlert(alertOf("own-too", 3)));
	expect(document.copy().alerts.map(({ value }) => value)).toEqual([2, 3]);
	expect(stored()).toEqual([1]);
	store.up = true;
	const silences = [{ name: "SluiceSwaps" as const, until: 9 }];
	store.text = JSON.stringify({ alerts: [alertOf("own", 1), alertOf("other", 4)], silences });
	expect((await document.updateAnyway((state) => state)).silences).toEqual(silences);
	expect(stored()).toEqual([4, 2, 3]);
	// From now on the store is right again.
	store.text = JSON.stringify({ alerts: [alertOf("own", 5)], silences: [] });
	expect((await document.update((state) => state)).alerts).toMatchObject([{ value: 5 }]);
});

it("D53: alerts and silences of rules that this release does not know are left out", async () => {
	const { store, document, stored } = bed();
	const unknown = { ...alertOf("other", 1), name: "SluiceOfLater" };
	store.text = JSON.stringify({ alerts: [unknown], silences: [{ name: "SluiceOfLater", until: 9 }] });
	expect(await document.read()).toEqual({ alerts: [], silences: [] });
	await document.update(withAlert(alertOf("own", 2)));
	expect(stored()).toEqual([2]);
});
