/**
 * Sequences of requests of clients, workers and operators to a whole service in this process, on a
 * manual clock with SQLite, and what must hold after each: the answer is the documented one, none
 * is a 500, nothing is left unhandled, the counts are right, others' jobs run.
 */
import { setTimeout } from "node:timers/promises";
import type { OpenApi } from "../../../scripts/api-page/openapi-types.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { call, KEY, startService, type TestService } from "../../support/service.ts";
import { atOnce, endWith, handWorker, type HandWorker } from "../../spec/hand-worker.ts";
import { answerChecker, type CheckAnswer } from "../http/answers.ts";
import { type Answer, exchange, type Exchange } from "../http/exchange.ts";
import { harmless } from "../http/harmless.ts";
import { type Place, PLACES, type Step, steps } from "../http/steps.ts";
import { natural } from "../generate.ts";
import { must, same, target } from "../target.ts";

/** Cases of one service, and what its heap may grow by meanwhile, bytes. */
const [CASES, GROWTH] = [40, 150 * 2 ** 20];

/** An endpoint that no generated request names. */
const BYSTANDER = "bystander-6Yt0";

interface Site {
	readonly service: TestService;
	readonly clock: ReturnType<typeof manualClock>;
	readonly bystander: HandWorker;
	readonly check: CheckAnswer;
	/** What was caught outside of a request. */
	readonly faults: string[];
	readonly heap: number;
	cases: number;
}

let site: Site | undefined;
const faultsOf = (error: unknown): string => (error instanceof Error ? error.stack! : String(error));
const onFault = (error: unknown): void => void site?.faults.push(`unhandled: ${faultsOf(error)}`);

async function started(): Promise<Site> {
	const clock = manualClock();
	const service = await startService({
		endpoints: { [BYSTANDER]: {} },
		settings: { webhooks: { allowPrivateNetworks: true } },
		clock,
	});
	const faults: string[] = [];
	const { events } = service;
	events.on("request.failed", ({ status, error }) => {
		if (status === 500) faults.push(faultsOf(error));
	});
	events.on("fault", ({ where, error }) => faults.push(`${where}: ${faultsOf(error)}`));
	process.on("unhandledRejection", onFault);
	process.on("uncaughtException", onFault);
	const document = (await call(service.url, "/openapi.json", { key: null })).json as OpenApi;
	const bystander = await handWorker(service, BYSTANDER);
	const { heapUsed } = process.memoryUsage();
	return {
		service,
		clock,
		bystander,
		check: answerChecker(document),
		faults,
		heap: heapUsed,
		cases: 0,
	};
}

async function ended(): Promise<void> {
	const old = site;
	site = undefined;
	process.off("unhandledRejection", onFault);
	process.off("uncaughtException", onFault);
	if (old) await endWith(old.service, old.clock);
}

/** One case: its endpoints, keys and worker, the ids that answers gave, and the open requests. */
interface Scene {
	readonly known: Record<Place, string>;
	readonly open: Map<Exchange, Step & { sent: string }>;
}

async function prepared({ service, clock, cases }: Site): Promise<Scene> {
	const [ep, other] = [`e${cases}`, `o${cases}`];
	const post = async (path: string, body: unknown): Promise<any> =>
		(await atOnce(clock, call(service.url, path, { body, method: "POST" }))).json;
	for (const [id, limits] of [
		[ep, "off"],
		[other, {}],
	] as const)
		await post("/v1/endpoints", { id, limits });
	const write = await post("/v1/keys", { name: "w", scopes: ["write"] });
	const read = await post("/v1/keys", { name: "r", scopes: ["read"], endpoints: [ep] });
	const worker = await atOnce(clock, handWorker(service, ep));
	const submit = async (): Promise<string> =>
		(await post(`/v2/${ep}/run`, { input: {}, webhook: "http://127.0.0.1:9/" })).id;
	const old = await submit();
	await atOnce(clock, worker.takeThis(old));
	await atOnce(clock, worker.done(old, { output: 1 }));
	const taken = await submit();
	await atOnce(clock, worker.takeThis(taken));
	const { deliveries } = (await atOnce(clock, call(service.url, "/v1/webhooks"))).json;
	return {
		open: new Map(),
		known: {
			"@ep": ep,
			"@other": other,
			"@job": await submit(),
			"@old": old,
			"@taken": taken,
			"@worker": worker.id,
			"@token": worker.token,
			"@admin": KEY,
			"@write": write.key,
			"@read": read.key,
			"@delivery": deliveries[0].id,
			"@keyid": read.id,
			"@cursor": "n1",
			"@origin": service.url,
		},
	};
}

const ANY_PLACE = new RegExp(PLACES.toSorted((a, b) => b.length - a.length).join("|"), "g");

function send(site: Site, { known, open }: Scene, step: Step): Exchange {
	const placed = (text: string): string => text.replaceAll(ANY_PLACE, (name) => known[name as Place]);
	const clean = (text: string): string => text.replaceAll(/[\r\n\0]/g, "");
	const query = step.query.map(([name = "x", value = ""]) => `${name}=${value}`).join("&");
	const path = clean(placed(step.path)).replaceAll(/[\s#?]/g, "x");
	const target = `${path}${query === "" ? "" : `?${clean(placed(query)).replaceAll(/[\s#]/g, "x")}`}`;
	const body = step.body === null ? undefined : Buffer.from(harmless(placed(step.body)));
	const lines = [["Host", new URL(site.service.url).host] as string[], ...step.headers]
		.filter(([name = ""], at) => at === 0 || !/^(?:host|transfer-encoding|content-length)$/i.test(name))
		.map(([name = "", value = ""]) => `${clean(name).replaceAll(/[^\w-]/g, "x")}: ${clean(placed(value))}`);
	const chunks = Math.min(20, natural(step.chunks));
	if (body) lines.push(chunks > 0 ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`);
	const method = clean(step.method).replaceAll(/[^A-Z]/g, "") || "GET";
	const share = Math.min(100, natural(step.cut));
	const whole = framed(body, chunks);
	const sent = whole.subarray(0, share > 0 ? Math.floor((whole.length * share) / 100) : undefined);
	const it = exchange(site.service.url, {
		pieces: [Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1"), sent],
		head: method === "HEAD",
		cut: share > 0,
	});
	open.set(it, { ...step, method, sent: path });
	return it;
}

function framed(body: Buffer | undefined, chunks: number): Buffer {
	if (!body || chunks === 0) return body ?? Buffer.alloc(0);
	const size = Math.max(1, Math.ceil(body.length / chunks));
	const parts: Buffer[] = [];
	for (let at = 0; at < body.length; at += size) {
		const part = body.subarray(at, at + size);
		parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n"));
	}
	return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")]);
}

/** Checks the answers that are complete, and learns ids from them. */
function settled(site: Site, { known, open }: Scene): void {
	const [fault] = site.faults;
	if (fault !== undefined) throw new Error(fault);
	for (const [it, { method, sent: path }] of open) {
		must(it.fault === undefined, `${method} ${path}: ${it.fault}`);
		if (it.closed) open.delete(it);
		if (!it.answer) continue;
		open.delete(it);
		it.socket.destroy();
		must(!it.answer.text.includes(KEY), `${method} ${path} shows the key`);
		site.check({ method, path, answer: it.answer });
		learn(known, path, it.answer);
	}
}

function learn(known: Record<Place, string>, path: string, { status, text, headers }: Answer): void {
	// HEAD is answered with the headers alone.
	if (status >= 300 || text === "" || !headers["content-type"]?.startsWith("application/json")) return;
	const value = JSON.parse(text) as any;
	const jobs = Array.isArray(value) ? value : [value];
	if (/^\/(?:sdk\/)?v2\/[^/]+\/run/.test(path)) {
		known["@old"] = known["@job"];
		known["@job"] = String(value?.id);
	} else if (path.includes("/job-take")) known["@taken"] = String(jobs[0]?.id);
	else if (path.endsWith("/keys") && value?.key) known["@keyid"] = String(value.id);
	else if (path.includes("/webhooks")) known["@delivery"] = String(value?.deliveries?.[0]?.id ?? known["@delivery"]);
	if (typeof value?.next === "string") known["@cursor"] = value.next;
}

async function run(site: Site, list: readonly Step[]): Promise<void> {
	const { service, clock, bystander } = site;
	const scene = await prepared(site);
	const { open, known } = scene;
	try {
		for (const step of list) {
			const it = send(site, scene, step);
			for (let turn = 0; turn < 12 && !it.answer && !it.closed; turn += 1) await clock.advance(0);
			settled(site, scene);
			const wait = natural(step.wait) % 60_001;
			if (wait > 0) await clock.advance(wait);
			settled(site, scene);
		}
		// Every held call has a longest time; streams of events last. Sockets need real time.
		for (let turn = 0; turn < 400 && [...open.keys()].some(({ begun }) => !begun); turn += 1) {
			await clock.advance(7000);
			if (turn >= 200) await setTimeout(10);
			settled(site, scene);
		}
		for (const [it, { method, sent }] of open)
			if (!it.begun) {
				const jobs = await atOnce(clock, call(service.url, `/v1/endpoints/${known["@ep"]}/jobs`));
				throw new Error(`${method} ${sent}: no answer in 45 minutes; jobs: ${jobs.text}`);
			}
	} finally {
		for (const { socket } of open.keys()) socket.destroy();
	}
	await clock.advance(0);
	await countsFit(site, known["@ep"]);
	const { json } = await atOnce(clock, call(service.url, `/v2/${BYSTANDER}/run`, { body: { input: {} } }));
	const taken = await atOnce(clock, bystander.takeThis(json.id));
	await atOnce(clock, bystander.done(taken.id, { output: { n: site.cases } }));
	const status = await atOnce(clock, call(service.url, `/v2/${BYSTANDER}/status/${taken.id}`));
	same("bystander", [status.json.status, status.json.output], ["COMPLETED", { n: site.cases }]);
	settled(site, scene);
	await removed(site);
}

/** `/health` against the records: they fit when the end of a cut request has been noticed. */
async function countsFit({ service, clock }: Site, endpoint: string): Promise<void> {
	const get = async (path: string): Promise<any> => (await atOnce(clock, call(service.url, path))).json;
	for (let tries = 10; ; tries -= 1) {
		const { jobs: counts } = await get(`/v2/${endpoint}/health`);
		if (!counts) return;
		const found = { IN_QUEUE: 0, IN_PROGRESS: 0 };
		for (let next: string | null = ""; next !== null; ) {
			const query = `limit=100&status=IN_QUEUE,IN_PROGRESS${next === "" ? "" : `&cursor=${next}`}`;
			const page = await get(`/v1/endpoints/${endpoint}/jobs?${query}`);
			for (const { status } of page.jobs) found[status as keyof typeof found] += 1;
			({ next } = page);
		}
		const fits = counts.inQueue === found.IN_QUEUE && counts.inProgress === found.IN_PROGRESS;
		if (fits) return;
		if (tries === 0) same("counts", [counts.inQueue, counts.inProgress], Object.values(found));
		await clock.advance(0);
	}
}

/** All endpoints but the bystander's. */
async function removed({ service, clock }: Site): Promise<void> {
	const { json } = await atOnce(clock, call(service.url, "/v1/endpoints"));
	for (const { id } of json.endpoints)
		if (id !== BYSTANDER)
			await atOnce(clock, call(service.url, `/v1/endpoints/${encodeURIComponent(id)}`, { method: "DELETE" }));
}

export const SERVICE = target({
	name: "service",
	sources: ["kernel/http/", "kernel/engine/", "kernel/core/", "kernel/api/"],
	turn: 60,
	batch: 1,
	slowMs: 20_000,
	cases: steps,
	async check(list) {
		if (site && site.cases >= CASES) {
			const { heap } = site;
			must(process.memoryUsage().heapUsed < heap + 4 * GROWTH, "the heap grows");
			await ended();
		}
		site ??= await started();
		site.cases += 1;
		try {
			await run(site, list);
		} catch (error) {
			await ended().catch(() => {});
			throw error;
		}
	},
	reset: ended,
	close: ended,
});
