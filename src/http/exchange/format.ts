/** Values in answers of `/v1` (D39). */

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

/** Scheme and host only, because path and query may contain secrets (D21). */
export function redactedUrl(url: string): string {
	const { protocol, host } = new URL(url);
	return `${protocol}//${host}/…`;
}
