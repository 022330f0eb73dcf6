/** `/openapi.json`: the definitions of `src/kernel/api` as an OpenAPI 3.1 document. */
import { SCHEMAS } from "./schemas.ts";
import type { RouteDefinition } from "../../src/kernel/api/definition/route.ts";
import { PROBLEM } from "../../src/modules/management/error-form.ts";
import { OPENAI_ERRORS } from "../../src/modules/openai/error-form.ts";
import { ALL_ERRORS } from "../../src/modules/tables.ts";
import { HEADERS, TAGS, operationOf, pathOf } from "./openapi-operation.ts";
import type { OpenApi } from "./openapi-types.ts";
import { withReferences } from "./references.ts";
import { exampleBody } from "./refusals.ts";

const INTRODUCTION = [
	"Durable job endpoints on your own machines, wire-compatible with RunPod Serverless.",
	"",
	"Send the API key as `Authorization: Bearer <key>`, or bare. " +
		'Every error is `{"error": sentence, "code": word}`, for a 400 with `details` of each bad field. ' +
		"Times are in ms, numbers are whole. RunPod's SDKs take the base address with `/sdk/v2`.",
].join("\n");

const SECURITY_SCHEMES: OpenApi["components"]["securitySchemes"] = {
	bearer: {
		type: "http",
		scheme: "bearer",
		description: "An API key with one of the listed scopes. admin includes all scopes, write includes read.",
	},
	bareKey: {
		type: "apiKey",
		in: "header",
		name: "Authorization",
		description: "The API key alone, without a scheme word.",
	},
	workerToken: {
		type: "apiKey",
		in: "header",
		name: "Authorization",
		description: "The token of a worker, which 'sluice worker-env' prints as RUNPOD_AI_API_KEY.",
	},
};

/** The document without the service's address. */
export function openapiOf(routes: readonly RouteDefinition[], version: string): OpenApi {
	const paths: OpenApi["paths"] = {};
	for (const route of routes) {
		if (route.page) continue;
		const item = (paths[pathOf(route)] ??= {});
		for (const method of route.methods) item[method.toLowerCase()] = operationOf(route, method);
	}
	const operations = Object.values(paths).flatMap((item) => Object.values(item));
	const used = new Set(operations.flatMap(({ tags }) => tags));
	const examples = new Set(JSON.stringify(paths).match(/(?<=#\/components\/examples\/)\w+/g));
	return {
		openapi: "3.1.1",
		info: {
			title: "Sluice",
			version,
			description: INTRODUCTION,
			license: { name: "Apache-2.0", identifier: "Apache-2.0" },
		},
		tags: TAGS.filter(([name]) => used.has(name)).map(([name, , description]) => ({
			name,
			description,
		})),
		paths,
		components: {
			schemas: Object.fromEntries(
				Object.entries(SCHEMAS).map(([name, schema]) => [name, withReferences(schema, name)]),
			),
			headers: Object.fromEntries(
				Object.entries(HEADERS).map(([name, description]) => [
					name,
					{ description, schema: { type: "integer", minimum: 0 } },
				]),
			),
			examples: Object.fromEntries(
				Object.keys(ALL_ERRORS)
					.flatMap((code) => [
						[code, { summary: code, value: exampleBody(code, undefined) }] as const,
						...[PROBLEM, OPENAI_ERRORS].map(
							(form) => [`${form.name}_${code}`, { summary: code, value: exampleBody(code, form) }] as const,
						),
					])
					.filter(([name]) => examples.has(name)),
			),
			securitySchemes: SECURITY_SCHEMES,
		},
	};
}
