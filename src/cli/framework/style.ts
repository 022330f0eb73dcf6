/** Terminal colours, subject to `NO_COLOR` and `FORCE_COLOR`. */
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

export function styled(format: Format, text: string, stream: NodeJS.WritableStream = process.stdout): string {
	return styleText(format, text, { stream });
}

export function heading(text: string): string {
	return styled("bold", text);
}

const STATES: Readonly<Record<string, Format>> = {
	COMPLETED: "green",
	completed: "green",
	delivered: "green",
	active: "green",
	crashing: "red",
	"no workers": "red",
	"workers missing": "yellow",
	ready: "green",
	passed: "green",
	IN_PROGRESS: "cyan",
	in_progress: "cyan",
	finalizing: "cyan",
	running: "cyan",
	IN_QUEUE: "yellow",
	validating: "yellow",
	cancelling: "yellow",
	pending: "yellow",
	initializing: "yellow",
	paused: "yellow",
	WARNING: "yellow",
	FAILED: "red",
	TIMED_OUT: "red",
	REFUSED: "red",
	failed: "red",
	expired: "red",
	unhealthy: "red",
	unreachable: "red",
	disabled: "red",
	PROBLEM: "red",
	CANCELLED: "dim",
	cancelled: "dim",
	asleep: "dim",
	stopping: "dim",
};

/** Other texts stay. Spaces around the state are allowed. */
export function stateStyled(cell: string, stream?: NodeJS.WritableStream): string {
	const format = STATES[cell.trim()];
	return format === undefined ? cell : styled(format, cell, stream);
}
