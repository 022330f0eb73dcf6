/** Moments in answers of `/v1`: ISO 8601 in UTC (D39). */

/** A moment given in ms since the epoch; undefined, which JSON leaves out, for none. */
export function moment(ms: number): string;
export function moment(ms: number | undefined): string | undefined;
export function moment(ms: number | undefined): string | undefined {
	return ms === undefined ? undefined : new Date(ms).toISOString();
}
