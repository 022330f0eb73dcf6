/** What runs only while the page is to be seen. */

/**
 * Calls `start` when the page is visible, and what that returned when it is hidden; the function
 * returned ends it.
 */
export function whileVisible(start: () => () => void): () => void {
	let stop: (() => void) | undefined;
	const look = (): void => {
		if (document.hidden) {
			stop?.();
			stop = undefined;
		} else stop ??= start();
	};
	document.addEventListener("visibilitychange", look);
	look();
	return () => {
		document.removeEventListener("visibilitychange", look);
		stop?.();
		stop = undefined;
	};
}
