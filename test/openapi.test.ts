/**
 * `/openapi.json` and `/docs/api/` as documents: valid, complete, and of one piece with the table of
 * routes.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { ENDPOINT } from "../src/kernel/api/endpoints.ts";
import { SCHEMAS } from "../scripts/api-page/schemas.ts";
import { KEY_REQUEST_SCHEMA } from "../src/kernel/core/access/key-request.ts";
import { LIMITED_OPERATIONS } from "../src/kernel/core/endpoints/limits.ts";
import { SUBMISSION_SCHEMA } from "../src/kernel/core/jobs/submission.ts";
import { ICON_SVG, docsPage } from "../scripts/api-page/page.ts";
import { openapiOf } from "../scripts/api-page/openapi.ts";
import { operationIdOf, pathOf } from "../scripts/api-page/openapi-operation.ts";
import type { OpenApi, Operation } from "../scripts/api-page/openapi-types.ts";
import { ALWAYS } from "../scripts/api-page/refusals.ts";
import { LANGUAGES } from "../scripts/api-page/snippets.ts";
import { twinOf } from "../scripts/api-page/twins.ts";
import { ALL_ERRORS, ROUTES } from "../src/modules/tables.ts";
import { ENDPOINT_SCHEMA, MEMBER_PROPERTIES } from "../src/kernel/launchers/endpoint-settings.ts";
import { folder } from "./support/service.ts";

/** `npm run site` installs it. */
const REDOCLY = fileURLToPath(new URL("../site/node_modules/@redocly/cli/bin/cli.js", import.meta.url));

/** As it arrives. */
const document = JSON.parse(JSON.stringify(openapiOf(ROUTES, "1.2.3"))) as OpenApi;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
	Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

function operation(id: string): Operation {
	return operations.find((each) => each.operation.operationId === id)!.operation;
}

/** The codes that the operation names for a status. */
function codes(id: string, status: string): string[] {
	return Object.keys(Object.values(operation(id).responses[status]?.content ?? {})[0]?.examples ?? {});
}

describe("/openapi.json", () => {
	it("is valid OpenAPI 3.1", async () => {
		const found = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>);
		expect(found.errors ?? []).toEqual([]);
		expect(found.valid).toBe(true);
	});

	it.skipIf(!existsSync(REDOCLY))("has no fault that redocly finds", async () => {
		const place = folder();
		onTestFinished(() => place.remove());
		const file = join(place.path, "openapi.json");
		const servers = [{ url: "http://127.0.0.1:8080" }];
		writeFileSync(file, JSON.stringify({ ...document, servers }));
		const args = [REDOCLY, "lint", file, "--config", "site/redocly.yaml", "--format", "json"];
		const { stdout } = await promisify(execFile)(process.execPath, args, {
			cwd: fileURLToPath(new URL("..", import.meta.url)),
			env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
		}).catch((error: { stdout: string }) => error);
		expect(JSON.parse(stdout).problems).toEqual([]);
	});

	it("has every row of the table but pages, and nothing else; HEAD goes with GET", () => {
		const rows = ROUTES.filter(({ page }) => !page).flatMap((route) =>
			route.methods.map((method) => `${method} ${pathOf(route)} ${operationIdOf(route, method)}`),
		);
		expect(
			operations
				.map(({ method, path, operation: { operationId } }) => `${method.toUpperCase()} ${path} ${operationId}`)
				.toSorted(),
		).toEqual(rows.toSorted());
	});

	it("names every operation once", () => {
		const ids = operations.map((each) => each.operation.operationId);
		expect(new Set(ids).size).toBe(ids.length);
	});

	it("has the very schemas that check what comes in", () => {
		const body = (id: string): unknown =>
			JSON.parse(
				JSON.stringify(operation(id).requestBody?.content["application/json"]?.schema),
				// Only generators of types need it.
				(name, value: unknown) => (name === "additionalProperties" && value === true ? undefined : value),
			);
		expect(body("run")).toEqual(SUBMISSION_SCHEMA);
		expect(body("runsync")).toEqual(SUBMISSION_SCHEMA);
		expect(body("updateEndpoint")).toEqual(ENDPOINT_SCHEMA);
		expect(body("createKey")).toEqual(KEY_REQUEST_SCHEMA);
	});

	it("says the size that the table has", () => {
		expect(operation("run").requestBody?.description).toContain("At most 10,485,760 bytes.");
		expect(operation("runsync").requestBody?.description).toContain("At most 20,971,520 bytes.");
	});

	it.each(operations.map(({ path, operation: { operationId } }) => [operationId, path]))(
		"%s has all parameters of its path and no other",
		(id, path) => {
			const inPath = (operation(id).parameters ?? [])
				.filter((each) => each.in === "path")
				.map(({ name }) => `{${name}}`);
			expect(inPath).toEqual(path.match(/\{\w+\}/g) ?? []);
		},
	);

	it("leads each reference somewhere", () => {
		const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) => match[1]!);
		expect(refs.length).toBeGreaterThan(100);
		const lost = refs.filter((path) => path.split("/").reduce<any>((at, name) => at?.[name], document) === undefined);
		expect(lost).toEqual([]);
	});

	it("refers to every component", () => {
		const text = JSON.stringify(document);
		const { schemas, headers, examples } = document.components;
		const unused = Object.entries({ schemas, headers, examples }).flatMap(([kind, all]) =>
			Object.keys(all)
				.map((name) => `#/components/${kind}/${name}`)
				.filter((place) => !text.includes(`"${place}"`)),
		);
		expect(unused).toEqual([]);
		expect(Object.keys(schemas)).toEqual(Object.keys(SCHEMAS));
	});

	it("says of every object without named members that it may have any", () => {
		const silent: string[] = [];
		JSON.stringify(document, (name, value) => {
			if (value?.type === "object" && typeof value.properties !== "object")
				if (value.additionalProperties === undefined && value.maxProperties !== 0)
					silent.push(`${name}: ${JSON.stringify(value)}`);
			return value as unknown;
		});
		expect(silent).toEqual([]);
	});

	it("D39: an endpoint's answer has every setting but the secret", () => {
		const { required, properties } = ENDPOINT;
		const optional = [
			"formerWebhookSecretUntil",
			"gpuMemoryGb",
			"management",
			"reason",
			"rolledBack",
			"sleep",
			"warmup",
			...Object.keys(MEMBER_PROPERTIES),
		];
		expect([...required, ...optional].toSorted()).toEqual(Object.keys(properties).toSorted());
		expect(Object.keys(properties)).toEqual(
			expect.arrayContaining(Object.keys(ENDPOINT_SCHEMA.properties).filter((name) => name !== "webhookSecret")),
		);
	});

	it("gives examples that fit their schemas", () => {
		const ajv = new Ajv2020({ strict: false, validateFormats: false });
		ajv.addSchema({ $id: "doc", components: document.components });
		for (const { operation: each } of operations) {
			const media = [each.requestBody, ...Object.values(each.responses)].flatMap(
				(part) => part?.content?.["application/json"] ?? [],
			);
			for (const { schema, example } of media) {
				if (example === undefined) continue;
				const fits = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/')) as object);
				expect(fits(example) ? [] : [each.operationId, fits.errors]).toEqual([]);
			}
		}
	});
});

describe("errors in /openapi.json", () => {
	it("D3: every code of the table can be met somewhere, and under its own status", () => {
		const named = new Set<string>([
			"path_not_found",
			"method_not_allowed",
			"https_only",
			"resource_not_found",
			"not_implemented",
			"uploads_not_supported",
			"videos_not_supported",
			// AWS documents the protocol of /s3.
			...["invalid", "denied", "missing", "not_allowed", "conflict", "precondition", "range", "not_implemented"].map(
				(name) => `s3_${name}`,
			),
		]);
		for (const {
			operation: { responses },
		} of operations) {
			for (const [status, { content }] of Object.entries(responses)) {
				for (const code of Object.values(content ?? {}).flatMap(({ examples = {} }) => Object.keys(examples))) {
					named.add(code);
					if (status !== "default") expect([code, status]).toEqual([code, String(ALL_ERRORS[code]!.status)]);
					else expect(ALWAYS).toContain(code);
				}
			}
		}
		expect([...named].toSorted()).toEqual(Object.keys(ALL_ERRORS).toSorted());
	});

	it("D2: an operation names those that follow from its row", () => {
		expect(codes("run", "400")).toEqual(["bad_json", "bad_encoding", "bad_request"]);
		expect(codes("run", "401")).toEqual(["unauthorized"]);
		expect(codes("run", "404")).toEqual(["endpoint_not_found"]);
		expect(codes("run", "409")).toEqual(["idempotency_reused", "idempotency_expired"]);
		expect(codes("run", "413")).toEqual(["body_too_large"]);
		expect(codes("run", "415")).toEqual(["unsupported_encoding"]);
		expect(codes("run", "429")).toEqual([
			"too_many_failures",
			"rate_limited",
			"too_many_at_once",
			"memory_share",
			"queue_full",
			"quota_full",
			"gpu_quota_used",
		]);
		expect(codes("run", "503")).toEqual(["memory_spent", "store_full", "store_unavailable", "outcome_unknown"]);
		expect(codes("status", "404")).toEqual(["endpoint_not_found", "job_not_found"]);
		expect(codes("status", "413")).toEqual([]);
		expect(codes("jobDone", "404")).toEqual(["endpoint_not_found"]);
		expect(codes("jobDone", "413")).toEqual([]);
		expect(codes("jobTake", "429")).toEqual(["too_many_failures", "too_many_worker_ids", "draining", "memory_share"]);
		expect(codes("healthz", "401")).toEqual([]);
	});

	it("D24: an operation with limits names its headers, and when to try again", () => {
		const limited = ROUTES.filter(({ limit, page }) => limit && !page).flatMap((route) =>
			route.methods.map((method) => operationIdOf(route, method)),
		);
		expect(limited.length).toBeGreaterThanOrEqual(2 * LIMITED_OPERATIONS.length);
		for (const id of limited) {
			const { responses } = operation(id);
			expect(Object.keys(responses["200"]!.headers!)).toEqual(
				expect.arrayContaining(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]),
			);
			expect(Object.keys(responses["429"]!.headers!)).toContain("Retry-After");
		}
	});

	it("D32: under /openai they have OpenAI's form", () => {
		const { schema, examples } = operation("openai").responses["429"]!.content!["application/json"]!;
		expect(schema).toEqual({ $ref: "#/components/schemas/OpenAIError" });
		expect(examples!["queue_full"]).toEqual({ $ref: "#/components/examples/openai_queue_full" });
		expect(document.components.examples["openai_queue_full"]!.value).toMatchObject({
			error: { type: "rate_limit_error", code: "queue_full" },
		});
	});
});

describe("/docs/api/ as a page", () => {
	const page = docsPage(document, { address: "http://127.0.0.1:8080", endpoint: "hello" });

	it("has every operation with an anchor, and one of each pair of twins in full", () => {
		const own = operations.filter((each) => twinOf(each, document) === undefined);
		expect(own.length).toBeLessThan(operations.length - 10);
		const ids = [...page.matchAll(/<article id="([^"]+)"/g)].map((match) => match[1]);
		expect(ids.filter((id) => !id!.startsWith("schema-"))).toEqual(
			document.tags.flatMap(({ name }) =>
				own.filter((each) => each.operation.tags.includes(name)).map((each) => each.operation.operationId),
			),
		);
		for (const { operation: each } of operations) expect(page).toContain(` id="${each.operationId}"`);
		for (const language of LANGUAGES)
			expect(page.split(`<pre data-language="${language.toLowerCase()}"`)).toHaveLength(own.length + 1);
	});

	it("has the sign and the colours of the console", () => {
		const file = (path: string): string => readFileSync(new URL(`../console/${path}`, import.meta.url), "utf8");
		expect(ICON_SVG).toBe(file("public/icon.svg").trim());
		const theme = file("src/styles/theme.css");
		const style = readFileSync(new URL("../scripts/api-page/page.css", import.meta.url), "utf8");
		const colours = style.match(/--[\w-]+: (?:light-dark\([^)]*\)|#\w+);/g)!;
		expect(colours.length).toBeGreaterThan(10);
		for (const colour of colours) expect(theme).toContain(colour);
	});

	it("links only to what is there", () => {
		const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]));
		const wanted = [...page.matchAll(/ href="#([^"]+)"/g)].map((match) => match[1]);
		expect(wanted.length).toBeGreaterThan(100);
		expect(wanted.filter((id) => !ids.has(id))).toEqual([]);
	});

	it("loads its own style and script, and nothing else", () => {
		expect(page).not.toMatch(/<script>|<style|<img|<iframe|@import|url\(| on[a-z]+=/i);
		expect(
			[...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map((match) => match[1]).filter((to) => !to!.startsWith("data:")),
		).toEqual(["page.css", "../", "../", "../../openapi.json", "page.js"]);
	});

	it("escapes whatever text it is given", () => {
		const evil = `</style><script>alert("1")</script>&'`;
		const { openapi, ...rest } = document;
		const spoiled = {
			openapi,
			...(JSON.parse(JSON.stringify(rest), (key, value: unknown) =>
				["summary", "description", "title", "version"].includes(key) && typeof value === "string" ? evil : value,
			) as Omit<OpenApi, "openapi">),
		};
		const text = docsPage(spoiled, { address: `http://x"><script>`, endpoint: `"><script>` });
		expect(text).not.toContain("<script>");
		expect(text).toContain("&#60;script&#62;");
	});
});
