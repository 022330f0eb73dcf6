/** Server-sent events of one thing, such as a job's stream or a worker's log, until they end. */
import { useEffect, useEffectEvent, useState } from "react";
import { openEvents } from "./event-stream.ts";
import { whileVisible } from "./visible.ts";

/**
 * `off`: nothing was asked for, `over`: it reached its end, `lost`: it broke and is tried again,
 * `refused`: it cannot be had.
 */
export type EventsState = "off" | "open" | "over" | "lost" | "refused";

interface Listen {
	/** Path below the service; undefined listens to nothing. */
	path: string | undefined;
	/** Data of an unnamed event with its id, or of the named ones asked for. */
	on: (event: { name: string; data: string; id: string }) => void;
	names: readonly string[];
}

/**
 * Listens while the page is to be seen; goes on after the last event that came (`Last-Event-ID`
 * after a lost connection, `offset` after a pause).
 */
export function useEvents({ path, on, names }: Listen): EventsState {
	const [state, setState] = useState<EventsState>("off");
	const onEvent = useEffectEvent(on);
	const wanted = names.join(" ");
	useEffect(() => {
		if (path === undefined) return undefined;
		let over = false;
		return whileVisible(() => {
			if (over) return () => {};
			onEvent({ name: "begin", data: "", id: "" });
			const known = ["message", "end", ...wanted.split(" ")];
			const close = openEvents(path, {
				onOpen: () => setState("open"),
				onError: setState,
				onEvent(event) {
					if (!known.includes(event.name)) return;
					onEvent(event);
					if (event.name !== "end") return;
					over = true;
					close();
					setState("over");
				},
			});
			return close;
		});
	}, [path, wanted]);
	return path === undefined ? "off" : state;
}
