/** A shorter end of a text is not taken for the beginning of a secret. */
const SHORTEST = 4;

/** A text of a receiver, which may have what it got, with `…` for secrets, also for one that is cut at its end. */
export function masked(text: string, all: readonly string[]): string {
	// The longest first: they contain others.
	const secrets = all.filter((each) => each !== "").toSorted((a, b) => b.length - a.length);
	const cut = Math.max(...secrets.map((secret) => overlap(text, secret)), 0);
	const rest = cut < SHORTEST ? text : `${text.slice(0, -cut)}…`;
	return secrets.reduce((shown, secret) => shown.replaceAll(secret, "…"), rest);
}

/** Length of the longest beginning of `secret` that is the end of `text`. */
function overlap(text: string, secret: string): number {
	let { length } = secret;
	while (!text.endsWith(secret.slice(0, length))) length -= 1;
	return length;
}
