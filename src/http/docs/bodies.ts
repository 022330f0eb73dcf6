/**
 * What requests may hold, by the name that a row of ROUTES gives: the very schemas that check them,
 * where there is a check, with an example.
 */
import { BULK_SCHEMA } from "../../core/bulk-request.ts";
import { ENDPOINT_ID } from "../../core/endpoint-schema.ts";
import { KEY_REQUEST_SCHEMA } from "../../core/key-request.ts";
import { RESULTS_TOGETHER } from "../../core/report.ts";
import { SIGN_IN_SCHEMA } from "../../core/sign-in.ts";
import { SUBMISSION_SCHEMA } from "../../core/submission.ts";
import type { JsonSchema } from "./shapes.ts";
import { ENDPOINT_SCHEMA } from "../../endpoint-settings.ts";

/** The body of a request. */
export interface Body {
	description: string;
	schema: JsonSchema;
	example: unknown;
	/** Its media type, where that is not JSON. */
	type?: string;
	/** A request without it is as good. */
	optional?: true;
	/** Its members are checked, so that a bad one is `bad_request`. */
	checked?: true;
	/** It is never refused, whatever it is and however large (D19). */
	neverRefused?: true;
}

export const BODIES = {
	submission: {
		description:
			"The job (spec 2.3). Read as JSON whatever the Content-Type says; other members are ignored, null means absent.",
		schema: SUBMISSION_SCHEMA,
		example: { input: { prompt: "hello" } },
		checked: true,
	},
	openai: {
		description:
			"A request of OpenAI's API; the worker gets it as input.openai_input, and the route as input.openai_route.",
		schema: {
			type: "object",
			properties: {
				stream: { type: "boolean", default: false, description: "Answer with server-sent events." },
			},
		},
		example: { model: "small", messages: [{ role: "user", content: "hello" }] },
	},
	report: {
		description:
			"output: the result. With status IN_PROGRESS it is progress; with an error the job has failed. stopPod: start the worker anew.",
		schema: {
			type: "object",
			properties: {
				output: {},
				error: {},
				status: { type: "string" },
				stopPod: { type: "boolean" },
			},
		},
		example: { output: { greeting: "hello" } },
		neverRefused: true,
	},
	reports: {
		description: `Up to ${RESULTS_TOGETHER} lines, each a JSON object without line breaks: what would be posted to job-done, and the job's id.`,
		schema: { type: "string" },
		type: "application/x-ndjson",
		example: '{"id":"0190a0b0-0000-7000-8000-000000000001","output":{"greeting":"hello"}}',
		checked: true,
	},
	chunk: {
		description: "A part of the output.",
		schema: { type: "object", properties: { output: {}, metrics: { type: "object" } } },
		example: { output: "hel" },
		neverRefused: true,
	},
	nothing: {
		description: "Nothing, or an empty object.",
		schema: { type: "object" },
		example: {},
		optional: true,
	},
	newEndpoint: {
		description:
			"Settings as in sluice.yaml, all optional, and the id; without one it gets a random one.",
		schema: { ...ENDPOINT_SCHEMA, properties: { id: ENDPOINT_ID, ...ENDPOINT_SCHEMA.properties } },
		example: { id: "hello", workersMax: 3, launcher: { type: "external" } },
		checked: true,
	},
	settingsPatch: {
		description:
			"A JSON merge patch (RFC 7396): the settings to be changed; null brings a default back.",
		schema: ENDPOINT_SCHEMA,
		example: { workersMax: 5 },
		checked: true,
	},
	bulk: {
		description:
			"Which jobs; without a filter all of the endpoint that can be cancelled, or retried.",
		schema: BULK_SCHEMA,
		example: { filter: { status: ["FAILED"], from: "2026-01-31T12:00:00Z" }, dryRun: true },
		checked: true,
	},
	signIn: {
		description: "The key to sign in with.",
		schema: SIGN_IN_SCHEMA,
		example: { key: "sluice_…" },
		checked: true,
	},
	keyRequest: {
		description: "The key as wished.",
		schema: KEY_REQUEST_SCHEMA,
		example: { name: "nightly batch", scopes: ["write"] },
		checked: true,
	},
} as const satisfies Record<string, Body>;

export type BodyName = keyof typeof BODIES;

/** The body of that name. */
export function bodyOf(name: BodyName): Body {
	return BODIES[name];
}
