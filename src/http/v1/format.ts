/** Values in answers of `/v1` (D39). */

/** ms since the epoch as ISO 8601 in UTC; undefined stays undefined. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined): string | undefined;
export function isoTime(ms: number | undefined): string | undefined {
	return ms === undefined ? undefined : new Date(ms).toISOString();
}

/** Scheme and host of a webhook URL; path and query may contain secrets (D21). */
export function redactedUrl(url: string): string {
	const { protocol, host } = new URL(url);
	return `${protocol}//${host}/…`;
}
