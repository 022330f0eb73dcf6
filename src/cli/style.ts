/** Colours on a terminal; `NO_COLOR` and `FORCE_COLOR` are respected. */
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

/** Plain unless `stream` shows colours. */
export function styled(format: Format, text: string, stream: NodeJS.WritableStream = process.stdout): string {
	return styleText(format, text, { stream });
}

export function heading(text: string): string {
	return styled("bold", text);
}

/** Colours of states, in tables and lines. */
const STATES: Readonly<Record<string, Format>> = {
	COMPLETED: "green",
	delivered: "green",
	active: "green",
	ready: "green",
	passed: "green",
	IN_PROGRESS: "cyan",
	running: "cyan",
	IN_QUEUE: "yellow",
	pending: "yellow",
	initializing: "yellow",
	paused: "yellow",
	WARNING: "yellow",
	FAILED: "red",
	TIMED_OUT: "red",
	REFUSED: "red",
	failed: "red",
	unhealthy: "red",
	unreachable: "red",
	disabled: "red",
	PROBLEM: "red",
	CANCELLED: "dim",
	stopping: "dim",
};

/** Colours a state; any other text stays. Spaces around it may be there. */
export function stateStyled(cell: string, stream?: NodeJS.WritableStream): string {
	const format = STATES[cell.trim()];
	return format === undefined ? cell : styled(format, cell, stream);
}
