/** Operations as curl commands; the caller's values are shell variables. */
import type { Operation } from "./openapi-types.ts";

export interface Target {
	/** Without a final slash. */
	address: string;
	endpoint: string;
}

const IN_PATH: Readonly<Record<string, string>> = {
	job: "$JOB",
	worker: "$RUNPOD_POD_ID",
	delivery: "$DELIVERY",
	receiver: "$RECEIVER",
	key: "$KEY_ID",
	session: "$SESSION_ID",
	host: "rig1",
	registry: "registry.example.com",
};

const CREDENTIALS: Readonly<Record<string, string>> = {
	bearer: "Bearer $SLUICE_API_KEY",
	workerToken: "$RUNPOD_AI_API_KEY",
};

/** Not for a terminal. */
const TAR = "application/x-tar";

/** `path` is the operation's template. */
export function curlOf(
	q: { method: string; path: string; operation: Operation },
	{ address, endpoint }: Target,
): string {
	const { parameters = [], requestBody, security } = q.operation;
	const method = q.method.toUpperCase();
	const route = !q.path.includes("/openai/")
		? "icon.svg"
		: method === "GET"
			? "v1/models"
			: "v1/chat/completions";
	const path = q.path.replace(/\{(\w+)\}/g, (_, name: string) =>
		name === "endpoint" ? endpoint : name === "route" ? route : IN_PATH[name]!,
	);
	// Required query parameters are all addresses of this service.
	const needed = parameters
		.filter((each) => each.in === "query" && each.required)
		.map(({ name }) => `${name}=${address}`);
	const example = Object.values(requestBody?.content ?? {})[0]?.example;
	const text = typeof example === "string" ? example : JSON.stringify(example);
	const body = requestBody?.required ? ` \\\n  -d '${text.replaceAll("'", `'\\''`)}'` : "";
	const [scheme] = security.flatMap(Object.keys);
	const key = scheme === undefined ? "" : ` \\\n  -H "Authorization: ${CREDENTIALS[scheme]}"`;
	const download = Object.values(q.operation.responses).some(({ content = {} }) => TAR in content)
		? "-o sluice.tar "
		: "";
	const verb = method === (body === "" ? "GET" : "POST") ? "" : `-X ${method} `;
	return `curl -s ${verb}${download}"${address}${path}${needed.length > 0 ? `?${needed.join("&")}` : ""}"${key}${body}`;
}
