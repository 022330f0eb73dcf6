/** Loading what a page shows, and loading it again when something has changed. */
import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react";
import { Failure, OUTAGE_MS } from "./api.ts";
import { afterSeen, throttled, type Throttled } from "./clock.ts";

export interface Loaded<D> {
	/** The last that came; stays while it is loaded again. */
	data: D | undefined;
	failure: Failure | undefined;
	/** Nothing has come yet for this key. */
	loading: boolean;
	reload: () => void;
	/** Shows what a change answered, ends a load in progress, and loads again. */
	show: (data: D) => void;
}

/** Ms between two loads where nothing else is said. */
const PACE_MS = 2000;

interface Options<D> {
	/** When this value changes, data is reloaded; the old data stays visible until then. */
	change?: unknown;
	/** Ms between two loads, at least. */
	pace?: (last: D | undefined) => number;
	/** Changes after this count no more; `reload` does. */
	until?: (last: D) => boolean;
	/** What was shown stays, as old, while something else is loaded in its place. */
	keep?: boolean;
	/** Does not abort a load for the next one, which waits for it: for those that may take longer than the pace. */
	whole?: boolean;
}

/** Loads when `key` or `change` does. `load` gets a signal that aborts a call whose result is not needed. */
export function useLoad<D>(
	key: string,
	load: (signal: AbortSignal) => Promise<D>,
	{ change, pace, until, keep = false, whole = false }: Options<D> = {},
): Loaded<D> {
	const [state, setState] = useState<{ key: string; data?: D; failure?: Failure }>({ key });
	const runner = useRef<Throttled | undefined>(undefined);
	const current = useEffectEvent(load);
	const pause = useEffectEvent(() => pace?.(state.data) ?? PACE_MS);
	const follow = useEffectEvent(() => {
		if (state.data === undefined || !until?.(state.data)) runner.current?.call();
	});

	useEffect(() => {
		let under: AbortController | undefined;
		let stopWaiting: (() => void) | undefined;
		let [busy, again] = [false, false];
		const run = async (): Promise<void> => {
			if (whole && busy) {
				again = true;
				return;
			}
			busy = true;
			under?.abort();
			stopWaiting?.();
			const mine = (under = new AbortController());
			try {
				const data = await current(mine.signal);
				if (!mine.signal.aborted) setState({ key, data });
			} catch (error) {
				if (mine.signal.aborted) return;
				const failure = error instanceof Failure ? error : new Failure(0, { error: String(error), code: "page" });
				setState((last) => ({ ...(last.key === key ? last : { key }), failure }));
				if (failure.outage) stopWaiting = afterSeen(OUTAGE_MS, () => void run());
			} finally {
				busy = false;
				if (again && !mine.signal.aborted) runner.current?.call();
				again = false;
			}
		};
		const mine = throttled(
			() => pause(),
			() => void run(),
		);
		runner.current = mine;
		mine.call();
		return () => {
			mine.stop();
			stopWaiting?.();
			under?.abort();
		};
	}, [key, whole]);

	const first = useRef(true);
	useEffect(() => {
		if (first.current) first.current = false;
		else follow();
	}, [change]);

	const reload = useCallback(() => runner.current?.rush(), []);
	const show = useCallback(
		(data: D) => {
			setState({ key, data });
			reload();
		},
		[key, reload],
	);
	const old = state.key !== key;
	const { data, failure } = old && !keep ? {} : state;
	return {
		data,
		failure: old ? undefined : failure,
		loading: old || (data === undefined && failure === undefined),
		reload,
		show,
	};
}
