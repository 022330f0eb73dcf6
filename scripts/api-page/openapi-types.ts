/** The subset of OpenAPI 3.1 in use. */
import type { JsonSchema } from "../../src/kernel/api/definition/schema.ts";

export interface OpenApi {
	openapi: "3.1.1";
	info: {
		title: string;
		version: string;
		description: string;
		license: { name: string; identifier: string };
	};
	tags: { name: string; description: string }[];
	/** By path template, then lower-case method. */
	paths: Record<string, Record<string, Operation>>;
	components: {
		schemas: Readonly<Record<string, JsonSchema>>;
		headers: Record<string, { description: string; schema: JsonSchema }>;
		examples: Record<string, { summary: string; value: unknown }>;
		securitySchemes: Record<string, { type: string; description: string; scheme?: string; in?: string; name?: string }>;
	};
}

export interface Operation {
	operationId: string;
	tags: string[];
	summary: string;
	description: string;
	parameters?: Parameter[];
	requestBody?: { description: string; required: boolean; content: Record<string, Media> };
	/** By status or `default`. */
	responses: Record<string, Response>;
	security: Record<string, string[]>[];
}

export interface Parameter {
	name: string;
	in: "path" | "query" | "header";
	required: boolean;
	description: string;
	schema: JsonSchema;
	example?: string;
}

export interface Response {
	description: string;
	headers?: Record<string, JsonSchema>;
	content?: Record<string, Media>;
}

export interface Media {
	schema: JsonSchema;
	example?: unknown;
	examples?: Record<string, JsonSchema>;
}
