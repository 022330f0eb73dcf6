/** Values in answers of `/v1` (D39). */

import type { EpochMs, WallMs } from "../../core/time.ts";
import type { Engine } from "../../engine/api.ts";

/** A job time as {@link isoTime} of its time of day. */
export function isoJobTime(engine: Pick<Engine, "calendar">, at: EpochMs): string;
export function isoJobTime(engine: Pick<Engine, "calendar">, at: EpochMs | undefined): string | undefined;
export function isoJobTime({ calendar }: Pick<Engine, "calendar">, at: EpochMs | undefined): string | undefined {
	return isoTime(at === undefined ? undefined : calendar.of(at));
}

/** ms since the epoch as ISO 8601 in UTC; undefined stays undefined. */
export function isoTime(ms: WallMs): string;
export function isoTime(ms: WallMs | undefined): string | undefined;
export function isoTime(ms: WallMs | undefined): string | undefined {
	return ms === undefined ? undefined : new Date(ms).toISOString();
}

/** Scheme and host of a webhook URL; path and query may contain secrets (D21). */
export function redactedUrl(url: string): string {
	const { protocol, host } = new URL(url);
	return `${protocol}//${host}/…`;
}
