/**
 * The body of a submission from what a person gave: the input's text is handed on byte for byte
 * (D5).
 */
import { parse } from "yaml";
import { isObject } from "../../core/schema.ts";
import { SUBMISSION_JSON } from "../../core/submission.ts";
import { CliError } from "../command.ts";
import { membersOf } from "../json-members.ts";

/**
 * Members that stand beside the input, as JSON texts; they win over those of a whole submission.
 */
export type SubmissionSettings = Readonly<Partial<Record<"policy" | "webhook", string>>>;

/** Members of a file such as `test_input.json`, which is a whole submission. */
const WHOLE = [...SUBMISSION_JSON.members, "id"];

/**
 * The body for an input, or for a whole submission (`{"input": {...}}` with nothing but a
 * submission's members); or what is wrong with the text.
 */
export function submissionBody(
	text: string,
	beside: SubmissionSettings,
): { ok: true; body: string } | { ok: false; fault: string } {
	const found = membersOf(text, SUBMISSION_JSON.members, SUBMISSION_JSON);
	if (!found.ok) return { ok: false, fault: `It is not JSON: ${found.fault}` };
	if (!found.object)
		return { ok: false, fault: 'It must be a JSON object, such as {"prompt": "hello"}.' };
	const value = JSON.parse(text) as Record<string, unknown>;
	const whole =
		isObject(value["input"]) && Object.keys(value).every((name) => WHOLE.includes(name));
	const members = { ...(whole ? found.texts : { input: text.trim() }), ...beside };
	const parts = Object.entries(members).flatMap(([name, member]) =>
		member === undefined ? [] : [`${JSON.stringify(name)}:${member}`],
	);
	return { ok: true, body: `{${parts.join(",")}}` };
}

/** `--policy` and `--webhook` as JSON texts; a policy may be written as YAML. */
export function settingsFrom(
	flags: Readonly<Record<string, string | undefined>>,
): SubmissionSettings {
	const { policy, webhook } = flags;
	return {
		...(policy === undefined ? {} : { policy: policyText(policy) }),
		...(webhook === undefined ? {} : { webhook: JSON.stringify(webhook) }),
	};
}

function policyText(given: string): string {
	let value: unknown;
	try {
		value = parse(given);
	} catch {
		value = undefined;
	}
	if (!isObject(value))
		throw new CliError(
			`--policy takes an object, such as '{executionTimeout: 60000, ttl: 600000, lowPriority: true}', not '${given}'.`,
		);
	return JSON.stringify(value);
}
