/** States as words with a sign and a colour: never by colour alone. */
import type { ReactNode } from "react";
import { T } from "../text/text.ts";

type Tone = "wait" | "run" | "good" | "bad" | "late" | "off";

const TONES: Readonly<Record<string, Tone>> = {
	IN_QUEUE: "wait",
	IN_PROGRESS: "run",
	COMPLETED: "good",
	FAILED: "bad",
	CANCELLED: "off",
	TIMED_OUT: "late",
	initializing: "wait",
	idle: "good",
	running: "run",
	unhealthy: "bad",
	asleep: "off",
	stopping: "off",
	unused: "off",
	connecting: "wait",
	reachable: "good",
	unreachable: "bad",
	pending: "wait",
	delivered: "good",
	failed: "bad",
	completed: "good",
	lost: "bad",
	released: "off",
	timed_out: "late",
	cancelled: "off",
	submitted: "wait",
	started: "run",
	retried: "wait",
	expired: "off",
	validating: "wait",
	in_progress: "run",
	finalizing: "run",
	cancelling: "off",
};

/** The tone of a state, for what is drawn next to it. */
export function toneOf(state: string): Tone {
	return TONES[state] ?? "off";
}

/** A state of a job, a worker, an attempt, a delivery or a batch. */
export function Status({ state }: { state: string }): ReactNode {
	return (
		<span className={`status tone-${toneOf(state)}`}>
			{(T.states as Readonly<Record<string, string>>)[state] ?? state}
		</span>
	);
}

/** A remark on something, such as that it is paused. */
export function Badge({ children, tone = "off" }: { children: ReactNode; tone?: Tone }): ReactNode {
	return <span className={`badge tone-${tone}`}>{children}</span>;
}
