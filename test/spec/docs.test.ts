/**
 * `/docs/api/` of a running service: its policy and its lines for a shell, which work as they stand;
 * examples in other languages send the same.
 */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenApi } from "../../scripts/api-page/openapi-types.ts";
import { twinOf } from "../../scripts/api-page/twins.ts";
import { ON_POSTGRES } from "../support/service-store.ts";
import { manualClock } from "../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../support/service.ts";
import { endWith, handWorker, type HandWorker, submitted } from "./hand-worker.ts";
import { held, operationsOf } from "./openapi-calls.ts";

/** The endpoint that the page names. */
const EP = "thumbnail";
const clock = manualClock();
let service: TestService;
let worker: HandWorker;
let document: OpenApi;

beforeAll(async () => {
	const settings = {
		webhooks: { allowPrivateNetworks: true },
		management: { launcher: { type: "docker", prePull: false } },
	};
	service = await startService({ endpoints: { [EP]: {} }, settings, clock });
	worker = await handWorker(service, EP);
	document = (await call(service.url, "/openapi.json", { key: null })).json as OpenApi;
});
afterAll(() => endWith(service, clock));

/** Operations whose example names nothing that this service has. */
const NOT_HERE = new Set(["endSilence", "endSession", "drainHost", "resumeHost", "getGpuType", "getHttp"]);

describe("/docs/api/ of a running service", () => {
	/** The lines for a shell by operation. */
	function lines(page: string): Map<string, string> {
		const found = page.matchAll(
			/<article id="(\w+)">(?:(?!<article).)*?<pre data-language="curl"[^>]*><code>(.*?)<\/code>/gs,
		);
		return new Map(
			[...found].map((match) => [
				match[1]!,
				match[2]!.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
			]),
		);
	}

	/** What curl would be given by a real shell. */
	function words(line: string, variables: Record<string, string>): string[] {
		const text = execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }\n${line}`], {
			env: { ...process.env, ...variables },
			encoding: "utf8",
		});
		return text.split("\0").slice(0, -1);
	}

	/** The form that curl makes of such fields. */
	function formOf(fields: readonly string[]): FormData {
		const form = new FormData();
		for (const [, name, value, file] of fields.map((field) => /^([^=]+)=([^;]*)(?:;filename=(.*))?$/.exec(field)!))
			if (file === undefined) form.append(name!, value!);
			else form.append(name!, new File([value!], file));
		return form;
	}

	async function uploaded(purpose = "vision"): Promise<string> {
		const answer = await fetch(`${service.url}/v2/${EP}/openai/v1/files`, {
			method: "POST",
			headers: { authorization: `Bearer ${KEY}` },
			body: formOf([`purpose=${purpose}`, "file=x;filename=x"]),
		});
		return ((await answer.json()) as { id: string }).id;
	}

	async function response(): Promise<string> {
		const body = { model: "m", input: "x", background: true };
		return (await call(service.url, `/v2/${EP}/openai/v1/responses`, { body })).json.id as string;
	}

	async function video(): Promise<string> {
		return (await call(service.url, `/v2/${EP}/openai/v1/videos`, { body: { prompt: "x" } })).json.id as string;
	}

	async function batch(): Promise<string> {
		const body = { input_file_id: await uploaded("batch"), endpoint: "/v1/embeddings", completion_window: "24h" };
		return (await call(service.url, `/v2/${EP}/openai/v1/batches`, { body })).json.id as string;
	}

	/** Does what waits, up to a request of OpenAI's API. */
	async function workUntilOpenai(): Promise<void> {
		for (let route: unknown; route === undefined; ) {
			const taken = await worker.take();
			await worker.done(taken!.id, { output: {} });
			route = taken!.input.openai_route;
		}
	}

	it("D2: is HTML, for anybody, under a policy that allows its own style and script only", async () => {
		const answer = await fetch(`${service.url}/docs/api/`, {
			headers: { "Accept-Encoding": "identity" },
		});
		const text = await answer.text();
		expect(answer.status).toBe(200);
		expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
		expect(answer.headers.get("content-security-policy")!.split("; ")).toEqual([
			"default-src 'none'",
			"style-src 'self'",
			"script-src 'self'",
			"img-src data:",
			"form-action 'self'",
			"base-uri 'none'",
			"frame-ancestors 'none'",
		]);
		expect(Number(answer.headers.get("content-length"))).toBe(Buffer.byteLength(text));
	});

	it("has its style and script, and nothing else", async () => {
		for (const [file, type] of [
			["page.css", "text/css"],
			["page.js", "text/javascript"],
		] as const) {
			const answer = await fetch(`${service.url}/docs/api/${file}`);
			expect([answer.status, answer.headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`]);
		}
		expect((await fetch(`${service.url}/docs/api/none`)).status).toBe(404);
	});

	it("has a line for every operation that works when pasted", async () => {
		const page = await (await fetch(`${service.url}/docs/api/`)).text();
		// As the page's script does in a browser.
		const all = lines(page.replaceAll("http://127.0.0.1:8080", service.url));
		const ids = operationsOf(document)
			.filter(({ method, ...each }) => !twinOf({ method: method.toLowerCase(), ...each }, document))
			.map(({ id }) => id);
		expect([...all.keys()].toSorted()).toEqual(ids.toSorted());
		// When nothing needs the endpoint any more.
		const last = "deleteEndpoint";
		const key = (await call(service.url, "/v1/keys", { body: { name: "k", scopes: ["read"] } })).json.id as string;
		const over = await submitted(service, EP, { input: {}, webhook: "http://127.0.0.1:9/" });
		await call(service.url, `/v2/${EP}/cancel/${over}`, { method: "POST" });
		// Refused at once, since it is this machine's own (D21): then it can be sent again.
		for (let state = "pending"; state === "pending"; await clock.advance(1000))
			state = (await call(service.url, "/v1/webhooks")).json.deliveries[0].state;
		const { deliveries } = (await call(service.url, "/v1/webhooks")).json;
		const made = async (path: string, body: object): Promise<string> =>
			(await call(service.url, path, { body })).json.id as string;
		const resources = {
			TEMPLATE_ID: await made("/v2/templates", { name: "t", image: "a:1" }),
			REGISTRY_ID: await made("/v2/registries", { name: "r", username: "u", password: "p" }),
			VOLUME_ID: await made("/v2/network-volumes", { name: "v", size: 10, dataCenter: "local" }),
			SECRET_ID: await made("/v2/account/secrets", { name: "s", value: "v" }),
			ID: "local",
		};
		const refused: string[] = [];
		for (const id of [...ids.filter((each) => each !== last), last]) {
			const variables = {
				SLUICE_API_KEY: KEY,
				RUNPOD_AI_API_KEY: worker.token,
				RUNPOD_POD_ID: worker.id,
				KEY_ID: key,
				...resources,
				DELIVERY: deliveries[0].id as string,
				JOB: await submitted(service, EP),
				BATCH_ID: /^(?:get|cancel)Batch$/.test(id) ? await held(clock, batch(), 1000) : "",
				RESPONSE_ID: /Response$|InputItems/.test(id) ? await held(clock, response(), 1000) : "",
				VIDEO_ID: /^(?:get|delete|remix)Video/.test(id) ? await held(clock, video(), 1000) : "",
				FILE_ID: /File/.test(id) ? await held(clock, uploaded(), 1000) : "",
			};
			const given = words(all.get(id)!, variables);
			const url = given.find((word) => word.startsWith("http"))!;
			const after = (flag: string): string | undefined =>
				given.includes(flag) ? given[given.indexOf(flag) + 1] : undefined;
			const fields = given.flatMap((word, at) => (word === "-F" ? [given[at + 1]!] : []));
			const body = fields.length > 0 ? formOf(fields) : after("-d");
			const authorization = after("-H")?.replace("Authorization: ", "");
			const method = after("-X") ?? (body === undefined ? "GET" : "POST");
			expect(method, id).toBe(operationsOf(document).find((each) => each.id === id)!.method);
			const asked = fetch(url, {
				method,
				...(body === undefined ? {} : { body }),
				...(authorization === undefined ? {} : { headers: { authorization } }),
			});
			const needsWork = url.includes("/openai/") && !/\/v1\/(?:batches|files|responses\/|videos)/.test(url);
			if (needsWork) await workUntilOpenai();
			const answer = await held(clock, asked, needsWork ? 0 : 1000);
			// A feed does not end.
			await (id === "feed" ? answer.body?.cancel() : answer.arrayBuffer());
			// A job that waits cannot be retried, of an external worker no log is kept, and it is not ended from here. The
			// endpoint is no HTTP server. The example of a sign-in has no real key; no receiver fails, no one is signed in,
			// there are no other hosts and no silences.
			const elsewhere =
				(id === "signIn" && answer.status === 401) ||
				(NOT_HERE.has(id) && answer.status === 404) ||
				// No machine has the GPU, and the endpoint is in the configuration file.
				(["createManaged", "updateManaged", "deleteManaged"].includes(id) && answer.status === 400) ||
				// Its input file does not exist.
				(id === "createBatch" && answer.status === 400) ||
				// The video is not completed.
				(id === "getVideoContent" && answer.status === 404) ||
				(id === "remixVideo" && answer.status === 400) ||
				(id === "createBackup" && ON_POSTGRES && answer.status === 409) ||
				(["stopWorker", "startWorkers"].includes(id) && [404, 409].includes(answer.status));
			if (
				answer.status >= 300 &&
				!elsewhere &&
				!(url.includes("/retry/") && answer.status === 409) &&
				!(url.endsWith("/logs") && answer.status === 404)
			)
				refused.push(`${id}: ${answer.status}`);
		}
		expect(refused).toEqual([]);
	});
});
