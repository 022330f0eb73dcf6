/** The body of a submission; the input's text is sent byte for byte (D5). */
import { parse } from "yaml";
import { isObject } from "../../core/schema.ts";
import { SUBMISSION_JSON } from "../../core/submission.ts";
import type { FlagValues } from "../command.ts";
import { CliError } from "../errors.ts";
import { membersOf } from "../json-members.ts";

/** JSON texts; they override those of a whole submission. */
export type SubmissionMembers = Readonly<Partial<Record<"policy" | "webhook", string>>>;

/** Members of a whole submission, such as `test_input.json`. */
const SUBMISSION_MEMBERS = [...SUBMISSION_JSON.members, "id"];

/**
 * `text`: an input, or a whole submission (`{"input": {...}}` with only members of a submission).
 */
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
	const texts = Object.entries(members).flatMap(([name, member]) =>
		member === undefined ? [] : [`${JSON.stringify(name)}:${member}`],
	);
	return { ok: true, body: `{${texts.join(",")}}` };
}

export function membersFromFlags({ policy, webhook }: FlagValues): SubmissionMembers {
	return {
		...(policy === undefined ? {} : { policy: policyText(policy) }),
		...(webhook === undefined ? {} : { webhook: JSON.stringify(webhook) }),
	};
}

/** A policy may be YAML. */
function policyText(text: string): string {
	let value: unknown;
	try {
		value = parse(text);
	} catch {
		value = undefined;
	}
	if (!isObject(value))
		throw new CliError(
			`--policy takes an object, such as '{executionTimeout: 60000, ttl: 600000, lowPriority: true}', not '${text}'.`,
		);
	return JSON.stringify(value);
}
