/** Documents in the store that all servers read and change: silences, and the alerts of each server (D53). */
import type { EngineContext } from "../../kernel/engine/context.ts";
import { ALERT_RULES } from "./rules.ts";

export function sharedDocument<T>({ store: { documents } }: Pick<EngineContext, "store">, name: string, empty: T) {
	async function stored(): Promise<{ text: string | undefined; value: T }> {
		const text = await documents.read(name);
		return { text, value: text === undefined ? empty : (JSON.parse(text) as T) };
	}

	return {
		/** Throws `StoreUnavailable`, as `update` does. */
		read: async (): Promise<T> => (await stored()).value,
		/** Changes the document. `change` may run several times, since other servers change it too. */
		async update(change: (value: T) => T): Promise<void> {
			for (;;) {
				const { text: from, value } = await stored();
				const to = JSON.stringify(change(value));
				if (to === (from ?? JSON.stringify(empty)) || (await documents.replace({ name, from, to }))) return;
			}
		},
	};
}

/** Leaves out rules that this version does not have; servers of another version wrote them. */
export function known<T extends { name: string }>(list: readonly T[]): T[] {
	return list.filter(({ name }) => Object.hasOwn(ALERT_RULES, name));
}
