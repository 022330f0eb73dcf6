/** Two processes that use one worker id (D16): what operators are shown. */

/** Times of the first and the last sign, ms since the epoch. */
export interface SharedId {
	since: number;
	at: number;
}

/** How long after the last sign it is shown, ms. */
const SHOWN_MS = 600_000;

export function isShownAsShared(shared: SharedId | undefined, now: number): shared is SharedId {
	return shared !== undefined && now - shared.at < SHOWN_MS;
}

export function sharedIdText(worker: string): string {
	return `two processes use the worker id ${worker}: start each with variables of its own from \`sluice worker-env\``;
}
