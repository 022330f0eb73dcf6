/** The request of an operation's examples; the caller's own values are environment variables. */
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";
import type { Operation } from "./openapi-types.ts";

export interface Target {
	/** Without a final slash. */
	address: string;
	endpoint: string;
}

export interface PlacedOperation {
	method: string;
	/** The template. */
	path: string;
	operation: Operation;
}

/** Literal text, or the name of an environment variable. */
export type Piece = string | { readonly variable: string };

export interface ExampleRequest {
	method: string;
	url: readonly Piece[];
	authorization: readonly Piece[];
	/** Undefined: none is needed. */
	/** `files`: fields of a form that are files. */
	body?: { value: unknown; media: string; files: readonly string[] };
	/** How long the answer is: an object, a stream without end, or a file. */
	answer: "whole" | "stream" | "file";
}

const IN_PATH: Readonly<Record<string, Piece>> = {
	job: { variable: "JOB" },
	worker: { variable: "RUNPOD_POD_ID" },
	delivery: { variable: "DELIVERY" },
	key: { variable: "KEY_ID" },
	version: "1",
	session: { variable: "SESSION_ID" },
	template: { variable: "TEMPLATE_ID" },
	volume: { variable: "VOLUME_ID" },
	login: { variable: "REGISTRY_ID" },
	secret: { variable: "SECRET_ID" },
	id: { variable: "ID" },
	host: "rig1",
	alert: "SluiceOldestWait",
	registry: "registry.example.com",
	batch: { variable: "BATCH_ID" },
	response: { variable: "RESPONSE_ID" },
	video: { variable: "VIDEO_ID" },
	file: { variable: "FILE_ID" },
};

const CREDENTIALS: Readonly<Record<string, readonly Piece[]>> = {
	bearer: ["Bearer ", { variable: "SLUICE_API_KEY" }],
	workerToken: [{ variable: "RUNPOD_AI_API_KEY" }],
};

export function exampleRequest(
	{ method, path, operation }: PlacedOperation,
	{ address, endpoint }: Target,
): ExampleRequest {
	const { parameters = [], requestBody, responses, security } = operation;
	const route = method === "get" ? "v1/models" : "v1/chat/completions";
	const own: Readonly<Record<string, Piece>> = { ...IN_PATH, endpoint, route };
	// Required query parameters are all addresses of this service.
	const needed = parameters
		.filter((each) => each.in === "query" && each.required)
		.map(({ name }) => `${name}=${address}`);
	const url = [
		address,
		...path.split(/\{(\w+)\}/).map((part, at) => (at % 2 === 1 ? own[part]! : part)),
		needed.length > 0 ? `?${needed.join("&")}` : "",
	];
	const [scheme] = security.flatMap(Object.keys);
	const [[media, example] = []] = Object.entries(requestBody?.content ?? {});
	const content = Object.entries(responses).find(([status]) => status.startsWith("2"))![1].content;
	const types = Object.keys(content ?? {});
	return {
		method: method.toUpperCase(),
		url: joined(url),
		authorization: scheme === undefined ? [] : CREDENTIALS[scheme]!,
		...(requestBody?.required && media !== undefined
			? { body: { value: example!.example, media, files: filesIn(example!.schema) } }
			: {}),
		answer: types.includes("application/x-tar") ? "file" : types.join() === "text/event-stream" ? "stream" : "whole",
	};
}

function filesIn(schema: JsonSchema): string[] {
	const { properties = {} } = schema as { properties?: Readonly<Record<string, { format?: string }>> };
	return Object.keys(properties).filter((name) => properties[name]!.format === "binary");
}

/** Adjacent texts become one. */
function joined(pieces: readonly Piece[]): Piece[] {
	return pieces.reduce<Piece[]>((all, piece) => {
		const last = all.at(-1);
		if (typeof piece === "string" && typeof last === "string") return [...all.slice(0, -1), last + piece];
		return [...all, piece];
	}, []);
}
