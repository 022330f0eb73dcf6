/**
 * Webhook addresses for those who may look but not submit: path and query may hold secrets (D21).
 */

/** Scheme and host of a URL. */
export function shownUrl(url: string): string {
	const { protocol, host } = new URL(url);
	return `${protocol}//${host}/…`;
}
