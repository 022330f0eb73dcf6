/** Submissions that keep the input byte for byte (D5). */
import { parse } from "yaml";
import { isObject } from "../../kernel/lib/schema.ts";
import { SUBMISSION_JSON } from "../../kernel/core/jobs/submission.ts";
import type { FlagValues } from "../framework/command.ts";
import { CliError } from "../client/errors.ts";
import { membersOf } from "../framework/json-members.ts";

/** JSON texts that override members of a whole submission. */
export type SubmissionMembers = Readonly<Partial<Record<"policy" | "webhook", string>>>;

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
