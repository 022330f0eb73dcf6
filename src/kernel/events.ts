/** The event bus. The engine contains no log calls. */
import type { EventDefinition, EVENTS } from "./event-table.ts";

export type Events = {
	[N in keyof typeof EVENTS]: (typeof EVENTS)[N] extends EventDefinition<infer Facts> ? Facts : never;
};

export type EventName = keyof Events;
type Listener<N extends EventName> = (facts: Events[N]) => void;

export interface EventBus {
	emit<N extends EventName>(name: N, facts: Events[N]): void;
	/** Returns a function that removes the listener. */
	on<N extends EventName>(names: N | readonly N[], listener: Listener<N>): () => void;
	/** Listens to every event. Returns a function that removes the listener. */
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
		on(names, listener) {
			const sets = [names].flat().map((name) => {
				const set = listeners.get(name) ?? new Set();
				listeners.set(name, set.add(listener));
				return set;
			});
			return () => {
				for (const set of sets) set.delete(listener);
			};
		},
		onAny(listener) {
			any.add(listener);
			return () => any.delete(listener);
		},
	};
}
