/**
 * One job as text for people (D39): what is known of it, its timeline, and its payloads as they
 * came.
 */
import { membersOf } from "./json-members.ts";
import { pairs, plain, short, table } from "./table.ts";
import type { ServiceAnswer } from "./service-client.ts";

/** Most characters of a payload that are shown. */
const LONGEST = 2000;

interface Job {
	id: string;
	status: string;
	operation: string;
	delayTime: number;
	executionTime: number;
	workerId?: string;
	retries?: number;
	error?: string;
	webhook?: string;
	submittedAt: string;
	endedAt?: string;
	expiresAt?: string;
	expired: boolean;
	reason?: { code: string; message: string };
	chunks: { written: number; delivered: number };
	timeline: { at: string; event: string; message: string }[];
}

/** The answer of `GET /v1/endpoints/{endpoint}/jobs/{job}` as text. */
export function jobText(told: ServiceAnswer): string {
	const job = told.json as Job;
	const known = pairs([
		["Job", job.id],
		["Status", job.status],
		["Waits", job.reason && `${job.reason.message} (${job.reason.code})`],
		["Operation", job.operation],
		["Worker", job.workerId],
		["In queue", `${job.delayTime} ms`],
		["Run time", job.executionTime > 0 ? `${job.executionTime} ms` : undefined],
		["Retries", job.retries],
		[
			"Chunks",
			job.chunks.written > 0
				? `${job.chunks.written} written, ${job.chunks.delivered} delivered`
				: undefined,
		],
		["Webhook", job.webhook],
		[job.expired ? "Expired" : "Expires", short(job.expiresAt)],
		["Error", job.error],
	]);
	const timeline = table(
		["AT", "EVENT", ""],
		job.timeline.map(({ at, event, message }) => [at, event, message]),
	);
	return `${known}\n${timeline}${payloads(told.text)}`;
}

/** Input and output as they stand in the answer: a number that is printed anew may be another. */
function payloads(text: string): string {
	const found = membersOf(text, ["input", "output"]);
	if (!found.ok) return "";
	return ["input", "output"]
		.flatMap((name) => {
			const whole = found.texts[name];
			if (whole === undefined) return [];
			const shown =
				whole.length > LONGEST
					? `${whole.slice(0, LONGEST)}… (${whole.length} characters; --json prints all)`
					: whole;
			return [`\n${name === "input" ? "Input" : "Output"}\n${plain(shown)}\n`];
		})
		.join("");
}
