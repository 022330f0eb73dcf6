/** The examples of the API reference in each language send what the line for curl sends (D2). */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/modules/tables.ts";
import { exampleRequest } from "../../scripts/api-page/example-request.ts";
import { openapiOf } from "../../scripts/api-page/openapi.ts";
import { type Language, snippetOf } from "../../scripts/api-page/snippets.ts";
import { folder } from "../support/service.ts";

/** Values of the variables that examples use. */
const VALUES = {
	SLUICE_API_KEY: "key",
	RUNPOD_AI_API_KEY: "token",
	RUNPOD_POD_ID: "worker-1",
	JOB: "job-1",
	DELIVERY: "msg_1",
	RECEIVER: "app.example.com",
	KEY_ID: "1",
	SESSION_ID: "2",
	TEMPLATE_ID: "3",
	VOLUME_ID: "4",
	REGISTRY_ID: "5",
	SECRET_ID: "6",
	ID: "7",
	FILE_ID: "8",
	BATCH_ID: "9",
	RESPONSE_ID: "10",
	VIDEO_ID: "11",
};

const place = folder();
const env = { ...process.env, ...VALUES };
const run = promisify(execFile);

/** Requests as they arrived, by the last program's operation. */
let arrived: unknown[] = [];
const listener = createServer((req, res) => {
	void text(req).then((body) => {
		const { method, url, headers } = req;
		arrived.push({ method, url, authorization: headers.authorization, body: parsed(body) });
		res.end("{}");
	});
});

/** Spaces between the values of JSON differ by language, boundaries of forms and types of their files too. */
function parsed(body: string): unknown {
	const [, boundary] = /^--(\S+)\r\n/.exec(body) ?? [];
	if (boundary !== undefined) return body.replaceAll(boundary, "b").replace(/\r\nContent-Type: .*/, "");
	try {
		return JSON.parse(body);
	} catch {
		return body;
	}
}

let address = "";
beforeAll(async () => {
	await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
	address = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
});
afterAll(() => {
	listener.close();
	place.remove();
});

/** Each operation's example. */
function examples(language: Language): { id: string; code: string }[] {
	const document = openapiOf(ROUTES, "1");
	return Object.entries(document.paths).flatMap(([path, item]) =>
		Object.entries(item).map(([method, operation]) => ({
			id: operation.operationId,
			code: snippetOf(exampleRequest({ method, path, operation }, { address, endpoint: "hello" }), language),
		})),
	);
}

/** What a program that runs all examples of a language sent, in their order. */
async function sent(command: string, args: string[]): Promise<unknown[]> {
	arrived = [];
	await run(command, args, { env, cwd: place.path, maxBuffer: 1 << 24 });
	return arrived;
}

async function ofCurl(): Promise<unknown[]> {
	const script = examples("curl").map(({ code }) => code);
	return await sent("sh", ["-ec", script.join("\n")]);
}

/** A file for each example; returns their names. */
function files(language: Language, nameOf: (id: string) => string): string[] {
	return examples(language).map(({ id, code }) => {
		const file = join(place.path, nameOf(id));
		mkdirSync(join(file, ".."), { recursive: true });
		writeFileSync(file, `${code}\n`);
		return file;
	});
}

const lacks = (command: string, ...args: string[]): boolean => spawnSync(command, args).status !== 0;

describe.skipIf(lacks("curl", "--version"))("examples of the API reference", () => {
	it("in JavaScript send what curl sends", async () => {
		const all = files("JavaScript", (id) => `javascript/${id}.mjs`);
		const runner = all.map((file) => `await import(${JSON.stringify(file)});`).join("\n");
		writeFileSync(join(place.path, "all.mjs"), runner);
		expect(await sent(process.execPath, ["all.mjs"])).toEqual(await ofCurl());
	});

	it.skipIf(lacks("python3", "-c", "import requests"))("in Python, with requests, send what curl sends", async () => {
		const all = files("Python", (id) => `python/${id}.py`);
		const runner = "import runpy, sys\nfor file in sys.argv[1:]: runpy.run_path(file)";
		expect(await sent("python3", ["-c", runner, ...all])).toEqual(await ofCurl());
	});

	it.skipIf(lacks("go", "version"))(
		"in Go are formatted, and send what curl sends",
		async () => {
			const all = files("Go", (id) => `go/${id}/main.go`);
			expect((await run("gofmt", ["-l", ...all])).stdout).toBe("");
			// One program of all, so that one is linked.
			const ids = examples("Go").map(({ id, code }) => {
				const own = code.replace("package main", `package ${id.toLowerCase()}`).replace("func main()", "func Main()");
				writeFileSync(join(place.path, `go/${id}/main.go`), own);
				return id;
			});
			const imports = ids.map((id) => `${id} "examples/go/${id}"`).join("\n");
			const calls = ids.map((id) => `${id}.Main()`).join("\n");
			writeFileSync(join(place.path, "main.go"), `package main\nimport (\n${imports}\n)\nfunc main() {\n${calls}\n}\n`);
			writeFileSync(join(place.path, "go.mod"), "module examples\n\ngo 1.19\n");
			await run("go", ["build", "-o", "all", "."], { cwd: place.path });
			expect(await sent(join(place.path, "all"), [])).toEqual(await ofCurl());
		},
		120_000,
	);
});
