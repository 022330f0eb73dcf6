/**
 * The event bus: the log, metrics, tests and the domains of the engine listen. The engine contains
 * no log calls. `event-table.ts` has each event.
 */
import type { EventDefinition, EVENTS } from "./event-table.ts";

/** Each event with its facts. */
export type Events = {
	[N in keyof typeof EVENTS]: (typeof EVENTS)[N] extends EventDefinition<infer Facts> ? Facts : never;
};

export type EventName = keyof Events;
type Listener<N extends EventName> = (facts: Events[N]) => void;

export interface EventBus {
	emit<N extends EventName>(name: N, facts: Events[N]): void;
	/** Returns what removes the listener. */
	on<N extends EventName>(name: N, listener: Listener<N>): () => void;
	/** Listens to every event. Returns what removes the listener. */
	onAny(listener: (name: EventName, facts: Events[EventName]) => void): () => void;
}

export function eventBus(): EventBus {
	const listeners = new Map<EventName, Set<(facts: never) => void>>();
	const any = new Set<(name: EventName, facts: Events[EventName]) => void>();
	return {
		emit(name, facts) {
			const set = listeners.get(name);
			if (set) for (const listener of set) (listener as Listener<typeof name>)(facts);
			for (const listener of any) listener(name, facts);
		},
		on(name, listener) {
			const set = listeners.get(name) ?? new Set();
			listeners.set(name, set);
			set.add(listener);
			return () => set.delete(listener);
		},
		onAny(listener) {
			any.add(listener);
			return () => any.delete(listener);
		},
	};
}
