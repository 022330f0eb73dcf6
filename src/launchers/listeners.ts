/** The listeners of a launcher (`onExit` and others): one that fails keeps no other from its call. */
export interface Listeners<A extends unknown[]> {
	add(listener: (...args: A) => void): void;
	call(...args: A): void;
}

/** `of`: what they are called for, for the log. */
export function listeners<A extends unknown[]>(of: string, log: (message: string) => void): Listeners<A> {
	const all: ((...args: A) => void)[] = [];
	return {
		add: (listener) => void all.push(listener),
		call(...args) {
			for (const listener of all) {
				try {
					listener(...args);
				} catch (error) {
					log(`a listener for ${of} failed: ${String(error)}`);
				}
			}
		},
	};
}
