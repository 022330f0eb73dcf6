/** Submissions that keep the input byte for byte (D5). */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { withoutMark } from "../../kernel/lib/byte-order-mark.ts";
import { isObject } from "../../kernel/lib/schema.ts";
import { SUBMISSION_JSON } from "../../kernel/core/jobs/submission.ts";
import type { Flags, FlagValues } from "../framework/command.ts";
import { CliError } from "../client/errors.ts";
import { membersOf } from "../framework/json-members.ts";

/** JSON texts that override members of a whole submission. */
export type SubmissionMembers = Readonly<Partial<Record<"policy" | "webhook", string>>>;

export const INPUT_FLAG = {
	input: {
		value: "JSON",
		summary: "the input, @FILE, or @- for standard input; may be a whole submission such as test_input.json",
	},
} as const satisfies Flags;

const SUBMISSION_MEMBERS = [...SUBMISSION_JSON.members, "id"];

/** `text`: an input, or an object with only members of a submission. */
export function submissionBody(
	text: string,
	overrides: SubmissionMembers,
): { ok: true; body: string } | { ok: false; fault: string } {
	const found = membersOf(text, SUBMISSION_JSON.members, SUBMISSION_JSON);
	if (!found.ok) return { ok: false, fault: `It is not JSON: ${found.fault}` };
	if (!found.object) return { ok: false, fault: 'It must be a JSON object, such as {"prompt": "hello"}.' };
	const value = JSON.parse(text) as Record<string, unknown>;
	const isSubmission =
		isObject(value["input"]) && Object.keys(value).every((name) => SUBMISSION_MEMBERS.includes(name));
	const members = { ...(isSubmission ? found.texts : { input: text.trim() }), ...overrides };
	const texts = Object.entries(members)
		.filter(([, member]) => member !== undefined)
		.map(([name, member]) => `${JSON.stringify(name)}:${member}`);
	return { ok: true, body: `{${texts.join(",")}}` };
}

/** The submission of {@link INPUT_FLAG}. Throws {@link CliError}. */
export function givenSubmission(value: string, members: SubmissionMembers = {}): string {
	const read = submissionBody(inputText(value), members);
	if (!read.ok) throw new CliError(`--input: ${read.fault}`);
	return read.body;
}

function inputText(value: string): string {
	if (!value.startsWith("@")) return value;
	const name = value.slice(1);
	try {
		return withoutMark(readFileSync(name === "-" ? 0 : name, "utf8"));
	} catch {
		throw new CliError(`--input: cannot read the file ${name}.`);
	}
}

export function membersFromFlags({ policy, webhook }: FlagValues): SubmissionMembers {
	return {
		...(policy !== undefined && { policy: policyText(policy) }),
		...(webhook !== undefined && { webhook: JSON.stringify(webhook) }),
	};
}

function policyText(text: string): string {
	let value: unknown;
	try {
		value = parse(text);
	} catch {
		// Refused below, as any value that is no object.
	}
	if (isObject(value)) return JSON.stringify(value);
	throw new CliError(
		`--policy takes an object, such as '{executionTimeout: 60000, ttl: 600000, lowPriority: true}', not '${text}'.`,
	);
}
