/** Whether an answer is what the OpenAPI document says of its operation. */
import { Ajv2020 } from "ajv/dist/2020.js";
import type { ValidateFunction } from "ajv";
import { operationIdOf } from "../../../scripts/api-page/openapi-operation.ts";
import type { OpenApi, Operation, Response } from "../../../scripts/api-page/openapi-types.ts";
import { errorFormsOf, finderOf } from "../../../src/kernel/http/server/routes.ts";
import { PROBLEM } from "../../../src/modules/management/error-form.ts";
import { S3_ERRORS } from "../../../src/modules/s3/errors.ts";
import { ROUTES } from "../../../src/modules/tables.ts";
import { must, same } from "../target.ts";
import type { Answer } from "./exchange.ts";

const findRoutes = finderOf(ROUTES);
const errorFormOf = errorFormsOf(ROUTES);

const PROBLEM_TYPE = PROBLEM.media!;
const S3_TYPE = S3_ERRORS.media!;

/** A schema whose objects have no members but those it names. */
function closed(schema: unknown): unknown {
	if (Array.isArray(schema)) return schema.map(closed);
	if (typeof schema !== "object" || schema === null) return schema;
	const inner: Record<string, unknown> = Object.fromEntries(
		Object.entries(schema).map(([name, member]) => [name, closed(member)]),
	);
	return inner["type"] === "object" && "properties" in inner ? { additionalProperties: false, ...inner } : inner;
}

/** Throws for an answer that the document does not describe. */
export type CheckAnswer = (q: { method: string; path: string; answer: Answer }) => void;

export function answerChecker(document: OpenApi): CheckAnswer {
	const ajv = new Ajv2020({
		strict: false,
		formats: { "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, uri: true, origin: true },
	});
	ajv.addSchema({ $id: "doc", components: closed(document.components) as object });
	const operations = new Map<string, Operation>(
		Object.values(document.paths)
			.flatMap((item) => Object.values(item))
			.map((operation) => [operation.operationId, operation]),
	);
	const compiled = new Map<string, ValidateFunction>();

	function fits(key: string, schema: unknown, value: unknown): void {
		let check = compiled.get(key);
		if (!check) {
			const text = JSON.stringify(closed(schema)).replaceAll('"#/', '"doc#/');
			compiled.set(key, (check = ajv.compile(JSON.parse(text) as object)));
		}
		if (!check(value))
			throw new Error(`${key}: ${ajv.errorsText(check.errors)} in ${JSON.stringify(value).slice(0, 300)}`);
	}

	/** An answer without an operation: a refusal in one of the four forms, or that of OPTIONS. */
	function refused(method: string, { status, headers, text }: Answer): void {
		if (method === "OPTIONS" && status === 200) return same("body", text, "");
		must(status >= 400, `status ${status} of no operation`);
		if (headers["content-type"] === S3_TYPE) return must(/<Code>\w+<\/Code>/.test(text), text);
		const { error, code, ...problem } = JSON.parse(text);
		if (headers["content-type"] === PROBLEM_TYPE)
			return must(problem.status === status && typeof problem.detail === "string", text);
		const sentence: unknown = error?.message ?? error;
		must(typeof sentence === "string" && typeof (code ?? error?.code) === "string", text);
	}

	return ({ method, path, answer }) => {
		const { status, headers, text } = answer;
		// Bytes that cannot be parsed have no operation, whatever they look like.
		const unreadable = status === 400 && headers["connection"] === "close" && text.includes('"code":"bad_http"');
		const form = unreadable ? undefined : errorFormOf(path);
		const errorType = form?.media ?? "application/json";
		if (method !== "HEAD" && status >= 400) same("type", headers["content-type"], errorType);
		const route = findRoutes(path)?.byMethod.get(method);
		if (!route || method === "HEAD" || unreadable) return refusedOrHead(method, answer);
		// Pages are in no document.
		if (route.page) return status < 400 ? undefined : refused(method, answer);
		const id = operationIdOf(route, method as "GET");
		const { responses } = operations.get(id)!;
		const found: Response | undefined = responses[status] ?? responses["default"];
		must(found !== undefined, `${id} answered ${status}: ${text}`);
		const type = headers["content-type"]?.split(";")[0];
		// An endpoint without limits has no RateLimit headers. The state of a job is not known when its
		// events begin.
		const optional =
			type === "text/event-stream" ? /^(?:RateLimit|Sluice-Job-Status$|Sluice-Next-Offset$)/ : /^RateLimit/;
		for (const name of Object.keys(found.headers ?? {}))
			must(
				status >= 300 || optional.test(name) || headers[name.toLowerCase()] !== undefined,
				`${id}: no header ${name}`,
			);
		const media = found.content?.[status >= 400 ? errorType : "application/json"];
		if (type !== (status >= 400 ? errorType : "application/json")) {
			const types = Object.keys(found.content ?? {}).map((each) => each.split(";")[0]);
			return must(
				type === undefined ? text === "" : types.includes(type) || types.includes("application/octet-stream"),
				`${id}: ${type} with ${status}`,
			);
		}
		const value = JSON.parse(text) as any;
		must(media !== undefined, `${id}: JSON with ${status}`);
		fits(`${id} ${status}`, media.schema, value);
		if (status < 400 || errorType === PROBLEM_TYPE) return;
		const code: unknown = value.code ?? value.error?.code;
		const codes = [responses[status], responses["default"]].flatMap((each) =>
			Object.keys(each?.content?.["application/json"]?.examples ?? {}),
		);
		// A failure of the job under /openai has what its worker reported.
		if (typeof route.errorForm !== "object")
			must(codes.includes(String(code)), `${id}: ${status} with ${String(code)}`);
	};

	/** A request that cannot be parsed has no method: its answer has a body. */
	function refusedOrHead(method: string, answer: Answer): void {
		if (method !== "HEAD" || (answer.status === 400 && answer.text !== "")) refused(method, answer);
		else same("body of HEAD", answer.text, "");
	}
}
