/** Where a job goes: to a path that its input chooses, or to the route of OpenAI's API that a client has called. */
import { memberText } from "../polling/job-text.ts";
import { RawJson } from "../raw-json.ts";
import type { Job } from "../types.ts";
import { decodedBase64 } from "./exchange/base64.ts";
import { JobFailure } from "./job-failure.ts";
import type { Mapping, OpenAiMapping, StreamMapping } from "./mapping/mapping.ts";
import { isObject } from "./mapping/mapping-reader.ts";
import { textOf } from "./mapping/template.ts";
import { type Part, partType, textBody } from "./exchange/multipart.ts";

/** A mapping for one job. */
export interface JobMapping {
	mapping: Mapping;
	/** With the input that the mapping reads. */
	job: Job;
	/** Of a job of `/openai/*`: the client's body, byte for byte, or as the parts of a form. */
	openai: { inputText: string; form: readonly Part[] | undefined } | undefined;
}

/** What the service looks for in the error of a job, to answer with its status and body (protocol C.2). */
export const OPENAI_ERROR = "vLLM returned ";

/** What the service says of a client's body that is a form (protocol C.1). */
const FORM_TYPE = "multipart/form-data";

const ROUTE = /^\/v1(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/;
/** Streams of these have a last event, so that one without it is cut. */
const WITH_END = ["/v1/chat/completions", "/v1/completions"];

/** Throws a {@link JobFailure} for a route that the mapping does not have. */
export function mappingOfJob(mapping: Mapping, job: Job): JobMapping {
	const input = isObject(job.input) ? job.input : {};
	const { openai } = mapping;
	if (openai && Object.hasOwn(input, "openai_route")) {
		const { openai_route: route, openai_input: body } = input;
		if (!hasRoute(openai.mapped, `POST ${String(route)}`) || !isObject(body))
			return openAiJob(mapping, openai, job, input);
		const inputText = memberText(job.inputText, 0, "openai_input") ?? "null";
		return mappingOfJob({ ...mapping, openai: undefined }, { ...job, input: body, inputText });
	}
	const isGiven = (name: string): boolean =>
		Object.hasOwn(input, name) && input[name] !== null && input[name] !== false;
	const path = Object.entries(mapping.paths).find(([name]) => isGiven(name))?.[1];
	const request = path === undefined ? mapping.request : { ...mapping.request, path };
	return { mapping: { ...mapping, request }, job, openai: undefined };
}

function openAiJob(
	mapping: Mapping,
	{ routes, base }: OpenAiMapping,
	job: Job,
	input: Record<string, unknown>,
): JobMapping {
	const { openai_route: route, openai_input: body, openai_content_type: type } = input;
	const isForm = type === FORM_TYPE && isObject(body);
	const isEmpty = body === undefined || body === null || (isObject(body) && Object.keys(body).length === 0);
	const hasBody = isForm || !isEmpty;
	const method = hasBody ? "POST" : "GET";
	if (typeof route !== "string" || !ROUTE.test(route) || !hasRoute(routes, `${method} ${route}`))
		throw new JobFailure(unknownRoute(`${method} ${String(route).slice(0, 200)}`));
	const stream: StreamMapping = {
		when: "always",
		as: "sse",
		at: undefined,
		raw: true,
		end: WITH_END.includes(route) ? "[DONE]" : undefined,
		error: "/error",
		output: "chunks",
	};
	return {
		job,
		mapping: {
			...mapping,
			request: {
				...mapping.request,
				method,
				path: base + route.slice("/v1".length),
				query: {},
				body: hasBody ? { as: "json", template: "{input}" } : undefined,
			},
			defaults: {},
			answer: { as: "typed", at: undefined, maxBytes: mapping.answer.maxBytes, store: undefined, files: undefined },
			uploads: [],
			failed: [],
			stream: isObject(body) && asksForStream(body["stream"], isForm) ? stream : undefined,
			async: undefined,
			progress: undefined,
		},
		openai: {
			inputText: (!isForm && hasBody && memberText(job.inputText, 0, "openai_input")) || "null",
			form: isForm ? partsOf(body) : undefined,
		},
	};
}

/** Values of forms are texts. */
function asksForStream(value: unknown, isForm: boolean): boolean {
	return value === true || (isForm && typeof value === "string" && /^(?:true|1)$/i.test(value));
}

/**
 * The form that the client has sent. A file without base64, of a job that no form made, is refused as the server would
 * refuse it: throws a {@link JobFailure}.
 */
function partsOf(form: Record<string, unknown>): Part[] {
	return Object.entries(form).flatMap(([field, given]) =>
		(Array.isArray(given) ? given : [given]).flatMap((value: unknown) => {
			try {
				return partOf(field, value);
			} catch (error) {
				throw new JobFailure(refusal(400, (error as Error).message, "invalid_file"));
			}
		}),
	);
}

function partOf(field: string, value: unknown): Part[] {
	if (value === undefined || value === null) return [];
	const { name, type, base64 }: Record<string, unknown> = isObject(value) ? value : {};
	if (typeof base64 !== "string") return [{ field, content: textBody(textOf(value)) }];
	const file = {
		name: typeof name === "string" && name !== "" ? name : field,
		type: partType(type) ?? "application/octet-stream",
	};
	return [{ field, file, content: decodedBase64(base64, `openai_input.${field}.base64`) }];
}

function hasRoute(routes: readonly string[], wanted: string): boolean {
	return routes.some((each) => (each.endsWith("/*") ? wanted.startsWith(each.slice(0, -1)) : wanted === each));
}

function unknownRoute(what: string): string {
	const message = `${what} is not a route of this endpoint's server (http.openai.routes). Without a body it is a GET.`;
	return refusal(404, message, "unknown_route");
}

function refusal(status: number, message: string, code: string): string {
	const error = { message, type: "invalid_request_error", param: null, code };
	return `${OPENAI_ERROR}HTTP ${status}: ${JSON.stringify({ error })}`;
}

/** The output as a list of one: an answer that is a list itself would be taken for chunks. */
export function inList({ json }: RawJson): RawJson {
	return new RawJson(
		typeof json === "string" ? `[${json}]` : Buffer.concat([Buffer.from("["), json, Buffer.from("]")]),
	);
}
