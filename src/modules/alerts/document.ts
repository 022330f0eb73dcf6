/** The document of alerts in the store, and this server's copy while the store is unavailable (D53). */
import { ALERT_RULES } from "./rules.ts";
import { type Alert, type AlertState, NO_ALERTS } from "./state.ts";
import { StoreUnavailable } from "../../kernel/store/contract/store.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";

const NAME = "alerts";

type Change = (state: AlertState) => AlertState;

export function alertDocument({ store: { documents } }: EngineContext, owns: (alert: Alert) => boolean) {
	let copy = NO_ALERTS;
	/** Whether the copy has changes that are not stored. */
	let ahead = false;

	async function read(): Promise<{ text: string | undefined; state: AlertState }> {
		const text = await documents.read(NAME);
		return { text, state: text === undefined ? NO_ALERTS : known(JSON.parse(text) as AlertState) };
	}

	/** Merges the copy into the stored state; about alerts of this server the copy is right. */
	function merged({ alerts: stored, silences }: AlertState): AlertState {
		if (!ahead) return { alerts: stored, silences };
		return { alerts: [...stored.filter((alert) => !owns(alert)), ...copy.alerts.filter(owns)], silences };
	}

	/** Changes the stored state. `change` may run several times. Throws {@link StoreUnavailable}. */
	async function update(change: Change): Promise<AlertState> {
		for (;;) {
			const { text: from, state } = await read();
			const changed = change(merged(state));
			const to = JSON.stringify(changed);
			if (to !== (from ?? JSON.stringify(NO_ALERTS)) && !(await documents.replace({ name: NAME, from, to }))) continue;
			ahead = false;
			return (copy = changed);
		}
	}

	return {
		update,
		/** Changes the state, and only the copy while the store is unavailable. */
		async updateAnyway(change: Change): Promise<AlertState> {
			try {
				return await update(change);
			} catch (error) {
				if (!(error instanceof StoreUnavailable)) throw error;
				ahead = true;
				return (copy = change(copy));
			}
		},
		/** Reads alerts and silences of all servers. */
		read: async (): Promise<AlertState> => (await read()).state,
		/** The state after the last change. */
		copy: (): AlertState => copy,
	};
}

/** Leaves out alerts of rules that this version does not have; servers of another version wrote them. */
function known({ alerts, silences }: AlertState): AlertState {
	const has = ({ name }: { name: string }): boolean => Object.hasOwn(ALERT_RULES, name);
	return { alerts: alerts.filter(has), silences: silences.filter(has) };
}
