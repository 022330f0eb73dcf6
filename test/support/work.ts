/** Work that is in progress in this process, for clocks that must not leap over it. */

import { fileCalls } from "../../src/kernel/system/file-calls.ts";

let inProgress = 0;
const waiting: (() => void)[] = [];

/** Whether nothing is. */
export function isIdle(): boolean {
	return inProgress === 0;
}

/** Resolves when nothing is. */
export async function idle(): Promise<void> {
	if (!isIdle()) await new Promise<void>((resolve) => waiting.push(resolve));
}

function end(): void {
	inProgress -= 1;
	if (isIdle()) for (const resolve of waiting.splice(0)) resolve();
}

/** The same groups of operations; those in progress count as work. */
export function counted<T extends object>(operations: T): T {
	const same = Object.entries(operations).map(([name, value]: [string, unknown]) => {
		if (typeof value === "object" && value !== null) return [name, counted(value)];
		return [
			name,
			typeof value === "function"
				? (...given: unknown[]) => watched((value as (...all: unknown[]) => unknown)(...given))
				: value,
		];
	});
	return Object.fromEntries(same) as T;
}

function watched(answer: unknown): unknown {
	if (!(answer instanceof Promise)) return answer;
	inProgress += 1;
	return answer.finally(end);
}

/** Calls on files are work wherever they come from. */
Object.assign(fileCalls, counted({ run: fileCalls.run.bind(fileCalls) }));
