/** Values in answers of `/v1` (D39). */

import { withoutUser } from "../../core/webhooks.ts";
import type { EpochMs, WallMs } from "../../lib/time.ts";
import type { Engine } from "../../engine/engine.ts";

type Calendared = Pick<Engine, "calendar">;

/** {@link isoTime} of a job time's time of day. */
export function isoJobTime(engine: Calendared, at: EpochMs): string;
export function isoJobTime(engine: Calendared, at: EpochMs | undefined): string | undefined;
export function isoJobTime({ calendar }: Calendared, at: EpochMs | undefined): string | undefined {
	return isoTime(at === undefined ? undefined : calendar.of(at));
}

export function isoTime(ms: WallMs): string;
export function isoTime(ms: WallMs | undefined): string | undefined;
export function isoTime(ms: WallMs | undefined): string | undefined {
	return ms === undefined ? undefined : new Date(ms).toISOString();
}

/**
 * Returns a URL as answers show it: never with user and password, and only scheme and host unless `full`, because path
 * and query may be secret (D21).
 */
export function shownUrl(url: string, full: boolean): string {
	if (full) return withoutUser(url);
	const { protocol, host } = new URL(url);
	return `${protocol}//${host}/…`;
}
