import { styled } from "../framework/style.ts";

export interface KeyAction {
	key: string;
	what: string;
	run: () => void;
}

const ENTER = new Set(["\r", "\n"]);
/** Ctrl-C and Ctrl-D, which send no signal while the terminal is in raw mode. */
const STOP = new Set(["\u0003", "\u0004"]);

export function keysText(actions: readonly KeyAction[]): string {
	const parts = actions.map(({ key, what }) => {
		const name = key === "enter" ? "Enter" : key;
		return `${styled("bold", name)} ${what}`;
	});
	return `${parts.join(styled("dim", " · "))}\n\n`;
}

export function listenToKeys(actions: readonly KeyAction[], onStop: () => void): { close(): void } | undefined {
	const { stdin } = process;
	if (!stdin.isTTY) return undefined;
	function onData(data: Buffer): void {
		for (const key of data.toString()) {
			if (STOP.has(key)) return onStop();
			const name = ENTER.has(key) ? "enter" : key.toLowerCase();
			actions.find((each) => each.key === name)?.run();
		}
	}
	stdin.setRawMode(true).on("data", onData).resume();
	return {
		close() {
			stdin.off("data", onData).setRawMode(false).pause();
		},
	};
}
