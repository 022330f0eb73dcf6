/** The event bus. The engine contains no log calls. */
import type { EventDefinition, EVENTS } from "./event-table.ts";

/** Definitions by name of the event. */
export type EventTable = Readonly<Record<string, EventDefinition<never>>>;

type EventsOf<T> = { [N in keyof T]: T[N] extends EventDefinition<infer Facts> ? Facts : never };

export type Events = EventsOf<typeof EVENTS>;

export type EventName = keyof Events;
export interface EventBus<E = Events> {
	emit<N extends keyof E>(name: N, facts: E[N]): void;
	/** Returns a function that removes the listener. */
	on<N extends keyof E>(names: N | readonly N[], listener: (facts: E[N]) => void): () => void;
	/** Listens to every event, those of modules too. Returns a function that removes the listener. */
	onAny(listener: (name: EventName, facts: Events[EventName]) => void): () => void;
}

/** The same bus for a module, which has events of its own. */
export function busOf<Table extends EventTable>(bus: EventBus): EventBus<Events & EventsOf<Table>> {
	return bus as unknown as EventBus<Events & EventsOf<Table>>;
}

type Listener<N extends EventName> = (facts: Events[N]) => void;

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
