/**
 * A client whose types `openapi-typescript` generates of `/openapi.json`: real calls compile against
 * them, wrong ones do not, and the answers are what the types say (D2).
 */
import { execFile } from "node:child_process";
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { folder, KEY, startService, type TestService } from "../support/service.ts";
import { handWorker } from "./hand-worker.ts";

const MODULES = fileURLToPath(new URL("../../site/node_modules", import.meta.url));
const EP = "thumbnail";
const place = folder();
const run = promisify(execFile);
let service: TestService;

/** A program of a user, checked as it stands; each `@ts-expect-error` must be one. */
const CALLS = `
import createClient from "openapi-fetch";
import type { components, paths } from "./api.d.ts";

declare const process: { env: Record<string, string | undefined> };
const client = createClient<paths>({
	baseUrl: process.env["SLUICE_URL"]!,
	headers: { Authorization: "Bearer " + process.env["SLUICE_API_KEY"] },
});
const params = { path: { endpoint: "${EP}" } };

const done = await client.POST("/v2/{endpoint}/runsync", {
	params: { ...params, query: { wait: 20_000 } },
	body: {
		input: { prompt: "hello", sizes: [64, 128], nested: { free: true } },
		policy: { ttl: 60_000, lowPriority: false },
		s3Config: { bucketName: "b" },
	},
});
const job: components["schemas"]["Job"] = done.data!;
const path = { ...params.path, job: job.id };
const status = await client.GET("/v2/{endpoint}/status/{job}", { params: { path } });
const state: "COMPLETED" | undefined =
	status.data?.status === "COMPLETED" ? status.data.status : undefined;

const openai = await client.POST("/v2/{endpoint}/openai/{route}", {
	params: { path: { ...params.path, route: "v1/chat/completions" } },
	body: { model: "small", messages: [{ role: "user", content: "hello" }], stream: false },
});

const created = await client.POST("/v1/endpoints", {
	body: { id: "typed", workersMax: 2, env: { MODEL: "small" }, launcher: { type: "external" } },
});
const workersMax: number | undefined = created.data?.workersMax;
const list = await client.GET("/v1/endpoints/{endpoint}/jobs", {
	params: { path: params.path, query: { status: ["COMPLETED"], limit: 10 } },
});
const listed: string[] | undefined = list.data?.jobs.map(({ id }) => id);
const key = await client.POST("/v1/keys", { body: { name: "typed", scopes: ["read"] } });

const unknown = { params: { path: { endpoint: "nowhere" } } };
const refused = await client.POST("/v2/{endpoint}/run", { ...unknown, body: { input: {} } });
const code: string | undefined = refused.error?.code;

const wrong = [
	// @ts-expect-error An input is an object.
	() => client.POST("/v2/{endpoint}/run", { params, body: { input: 5 } }),
	// @ts-expect-error A submission has an input.
	() => client.POST("/v2/{endpoint}/run", { params, body: {} }),
	// @ts-expect-error There is no such path.
	() => client.GET("/v2/{endpoint}/results", { params }),
	// @ts-expect-error There is no such scope.
	() => client.POST("/v1/keys", { body: { name: "typed", scopes: ["all"] } }),
];

console.log(
	JSON.stringify({
		output: job.output,
		state,
		openai: openai.data,
		workersMax,
		listed: listed?.includes(job.id),
		scopes: key.data?.scopes,
		code,
		status: refused.response.status,
		wrong: wrong.length,
	}),
);
`;

beforeAll(async () => {
	service = await startService({ endpoints: { [EP]: {} } });
	if (existsSync(MODULES)) symlinkSync(MODULES, join(place.path, "node_modules"));
	writeFileSync(join(place.path, "package.json"), '{"type": "module"}');
	writeFileSync(join(place.path, "calls.ts"), CALLS);
});
afterAll(async () => {
	await service.end();
	place.remove();
});

it.skipIf(!existsSync(MODULES))(
	"D2: real calls compile against the generated types, and do what they say",
	async () => {
		const cwd = place.path;
		const env = { ...process.env, SLUICE_URL: service.url, SLUICE_API_KEY: KEY };
		const generator = join(MODULES, "openapi-typescript/bin/cli.js");
		await run(process.execPath, [generator, `${service.url}/openapi.json`, "-o", "api.d.ts"], {
			cwd,
		});
		const flags = "--strict --noEmit --module nodenext --target es2024 --skipLibCheck";
		const options = [...flags.split(" "), "--allowImportingTsExtensions", "calls.ts", "api.d.ts"];
		const checked = await run(join(MODULES, ".bin/tsc"), options, { cwd }).catch((error: { stdout: string }) => error);
		expect(checked.stdout).toBe("");

		const worker = await handWorker(service, EP);
		const called = run(process.execPath, ["calls.ts"], { cwd, env });
		for (const output of [{ greeting: "hello" }, { object: "chat.completion" }]) {
			const taken = await worker.take();
			await worker.done(taken!.id, { output });
		}
		expect(JSON.parse((await called).stdout)).toEqual({
			output: { greeting: "hello" },
			state: "COMPLETED",
			openai: { object: "chat.completion" },
			workersMax: 2,
			listed: true,
			scopes: ["read"],
			code: "endpoint_not_found",
			status: 404,
			wrong: 4,
		});
	},
	60_000,
);
