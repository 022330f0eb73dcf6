/** `docs/reference/job-states.md`: the table of `core/jobs/job-states.ts` as a diagram and in words. */
import { type Effect, FINAL_STATES, JOB_STATES, type JobEvent, RULES } from "../../src/kernel/core/jobs/job-states.ts";
import { code, type Page, table } from "./markdown.ts";

/** The cause of each event. */
const CAUSES: Readonly<Record<JobEvent, string>> = {
	claim: "a worker takes it",
	resume: "the worker that lost it posts about it, and no worker had it since",
	complete: "its worker reports a result",
	fail: "its worker reports a failure",
	overrun: "it runs longer than its execution timeout",
	lapse: "it waits longer than its ttl",
	lose: "its worker ends, or no longer names it",
	exhaust: "it is lost for the third time",
	release: "the service ends the attempt, such as at a shutdown",
	cancel: "a client cancels it, or its endpoint is deleted",
	retry: "a client retries it",
	purge: "a client purges the queue",
	expire: "its retention is over",
	forget: "the retention of its record is over",
};

const EFFECTS: Readonly<Record<Effect, string>> = {
	start: "a new attempt begins, with its lease and deadline",
	settle: "the end is recorded, the result kept, its expiry set, the webhook due",
	front: "it joins the front of the queue, its ttl starts again",
	back: "it joins the back of the queue, its ttl starts again",
	loss: "a loss is counted; `retries` grows if it returns to the queue",
	close: "the running attempt goes into the history",
	clear: "output, error, chunks and losses are removed",
	stop: "the worker gets a stop signal",
	erase: "input, output, chunks, error and secrets are removed; the record stays",
	delete: "the job is deleted",
};

export const jobStates: Page = {
	file: "job-states.md",
	title: "States of a job",
	about: "the states of a job and the transitions between them",
	body() {
		const rules = RULES.map(({ on, from, effects, ...rest }) => ({
			on,
			from: from as readonly string[],
			to: "to" in rest ? rest.to : undefined,
			effects: effects as readonly Effect[],
		}));
		// One arrow for each pair of states, with all its events.
		const arrows = new Map<string, string[]>();
		for (const { on, from, to, effects } of rules) {
			if (to === undefined && !effects.includes("delete")) continue;
			if (on === "forget") continue;
			for (const state of from) {
				const arrow = `${state} --> ${to ?? "[*]"}`;
				arrows.set(arrow, [...(arrows.get(arrow) ?? []), on]);
			}
		}
		const diagram = [
			"stateDiagram-v2",
			"  [*] --> IN_QUEUE: run, runsync",
			...[...arrows].map(([arrow, events]) => `  ${arrow}: ${events.join(", ")}`),
			...FINAL_STATES.map((state) => `  ${state} --> [*]: expire, forget`),
		];
		return `A job is in one of ${JOB_STATES.map(code).join(", ")}. The last four are final;
only \`/retry\` leaves FAILED and TIMED_OUT. Deadlines take effect when they pass.

\`\`\`mermaid
${diagram.join("\n")}
\`\`\`

${table(
	["Event", "From", "To", "When", "What it does"],
	rules.map(({ on, from, to, effects }) => [
		code(on),
		from.join(", "),
		to ?? (effects.includes("delete") ? "(deleted)" : "(unchanged)"),
		CAUSES[on],
		effects.map((effect) => EFFECTS[effect]).join("; "),
	]),
)}

Anything else is refused and changes nothing.`;
	},
};
