/** A part of what a function is called with: members that a test does not need may be missing. */
type Given<T> = T extends (...q: never[]) => unknown ? T : { [K in keyof T]?: Given<T[K]> | undefined };

/** Returns what a test gives of the context of the engine, or of other dependencies, as the whole. */
export function given<T extends object>(some: Given<NoInfer<T>>): T {
	return some as T;
}
