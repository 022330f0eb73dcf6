/**
 * One trace through client, queue, worker and webhook, over two servers of which one is killed while the job runs
 * (D52). Client and worker are OpenTelemetry's SDK, which exports to the same receiver.
 */
import { ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ReceivedSpan, spansIn } from "../support/otlp.ts";
import { type SdkProtocol, sdkProtocol } from "../support/sdk-protocol.ts";
import { movedEnv, workerEnvOf } from "../support/sdk-worker-bench.ts";
import { servers, type Servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { until, untilFits } from "../support/until.ts";
import { webhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

const LEASE_MS = 2000;

let group: Servers;
let collector: WebhookReceiver;
let webhooks: WebhookReceiver;
const groups: Servers[] = [];
const protocols: SdkProtocol[] = [];
beforeAll(async () => {
	[group, collector, webhooks] = await Promise.all([servers(), webhookReceiver(), webhookReceiver()]);
});
afterAll(async () => {
	for (const each of protocols) each.close();
	for (const each of [...groups, group]) await each.end();
	await Promise.all([collector.end(), webhooks.end()]);
});

/** OpenTelemetry's SDK in a program of a user. */
function tracerOf(service: string) {
	const exporter = new OTLPTraceExporter({ url: `${collector.url}/v1/traces` });
	const resource = resourceFromAttributes({ "service.name": service });
	return new TracerProvider({ resource, spanProcessors: [new SimpleSpanProcessor({ exporter })] }).getTracer(service);
}

function parentOf(carrier: { traceparent: string }) {
	const [, traceId, spanId, flags] = carrier.traceparent.split("-") as [string, string, string, string];
	return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number(flags), isRemote: true });
}

/** Names of a span and of those above it. */
function pathOf(span: ReceivedSpan, all: readonly ReceivedSpan[]): string[] {
	const parent = all.find(({ spanId }) => spanId === span.parentId);
	return [`${span.service}: ${span.name}`, ...(parent ? pathOf(parent, all) : [])];
}

it("D52: client, request, queue, both attempts, worker and webhook have the right parents", {
	timeout: 90_000,
}, async () => {
	const env = {
		OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
		OTEL_BSP_SCHEDULE_DELAY: "50",
		SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: "true",
	};
	const endpoints = { ep: { leaseMs: LEASE_MS } };
	const [a, b] = [await group.spawn({ endpoints, env }), await group.spawn({ endpoints, env })];
	const [first, second] = [await workerEnvOf(a.url, "ep"), await workerEnvOf(b.url, "ep")].map((each, index) =>
		sdkProtocol(movedEnv(each, [a, b][index]!.url)),
	) as [SdkProtocol, SdkProtocol];
	protocols.push(first, second);

	const span = tracerOf("client").startSpan("ask", { kind: SpanKind.CLIENT });
	const { traceId, spanId } = span.spanContext();
	const headers = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: "vendor=1" };
	const submitted = await call(a.url, "/v2/ep/run", { body: { input: {}, webhook: `${webhooks.url}/hook` }, headers });
	span.end();
	const taken = JSON.parse((await first.take()).text) as { id: string; traceparent: string; tracestate: string };
	expect(taken).toMatchObject({ id: submitted.json.id, tracestate: "vendor=1" });
	await until("the request's span", () =>
		spansIn(collector.received).some(({ name }) => name === "POST /v2/:endpoint/run"),
	);
	await a.end("SIGKILL");

	const again = JSON.parse((await second.take()).text) as typeof taken;
	expect(again.id).toBe(taken.id);
	expect(again.traceparent).not.toBe(taken.traceparent);
	const work = tracerOf("worker").startSpan("infer", {}, parentOf(again));
	work.end();
	expect((await second.done(again.id, { output: 1 })).status).toBe(200);
	const [webhook] = await webhooks.arrived(1);
	const spans = await untilFits(
		async () => spansIn(collector.received).filter((each) => each.traceId === traceId),
		(found) => found.some(({ name }) => name.startsWith("deliver")) && found.some(({ name }) => name === "process ep"),
	);

	expect(spans.map((each) => pathOf(each, spans).join(" < ")).toSorted()).toEqual(
		[
			"client: ask",
			"sluice: POST /v2/:endpoint/run < client: ask",
			"sluice: publish ep < sluice: POST /v2/:endpoint/run < client: ask",
			...["wait ep", "process ep", "wait ep", "process ep", "deliver ep"].map(
				(name) => `sluice: ${name} < sluice: publish ep < sluice: POST /v2/:endpoint/run < client: ask`,
			),
			"worker: infer < sluice: process ep < sluice: publish ep < sluice: POST /v2/:endpoint/run < client: ask",
		].toSorted(),
	);
	const { json: record } = await call(b.url, `/v1/endpoints/ep/jobs/${submitted.json.id}`);
	expect(record.trace).toEqual({ id: traceId });
	const runs = spans.filter(({ name }) => name === "process ep");
	expect(
		runs.map(({ error, attributes }) => [attributes["sluice.attempt"], error, attributes["messaging.client.id"]]),
	).toEqual([
		[1, true, first.id],
		[2, false, second.id],
	]);
	const publish = spans.find(({ name }) => name === "publish ep")!;
	expect(runs.flatMap(({ links }) => links)).toEqual([publish.spanId, publish.spanId]);
	expect([taken, again].map(({ traceparent }) => traceparent.split("-")[2])).toEqual(runs.map((run) => run.spanId));
	const deliver = spans.find(({ name }) => name === "deliver ep")!;
	expect(webhook!.headers).toMatchObject({ traceparent: `00-${traceId}-${deliver.spanId}-01`, tracestate: "vendor=1" });
	expect(new Set(spans.map((each) => each.spanId)).size).toBe(spans.length);
});

it("D52: unsampled jobs are recorded at their end if they failed, and only then", { timeout: 60_000 }, async () => {
	const env = {
		OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
		OTEL_BSP_SCHEDULE_DELAY: "50",
		OTEL_TRACES_SAMPLER: "always_off",
	};
	const c = await group.spawn({ endpoints: { quiet: {} }, env });
	const worker = sdkProtocol(await workerEnvOf(c.url, "quiet"));
	protocols.push(worker);
	const ids: string[] = [];
	for (const body of [{ output: 1 }, { error: "no" }]) {
		const { json } = await call(c.url, "/v2/quiet/run", { body: { input: {} } });
		const job = JSON.parse((await worker.take()).text) as { id: string; traceparent: string };
		expect(job.traceparent).toMatch(/-00$/);
		await worker.done(job.id, body);
		ids.push(json.id);
		const { json: record } = await call(c.url, `/v1/endpoints/quiet/jobs/${json.id}`);
		expect(record.trace).toEqual({ id: json.id.replaceAll("-", "") });
	}
	await c.end("SIGTERM");
	const jobs = spansIn(collector.received).filter(({ name }) => name.endsWith(" quiet"));
	expect(jobs.map(({ name, error }) => [name, error])).toEqual([
		["publish quiet", false],
		["wait quiet", false],
		["process quiet", true],
	]);
	expect(new Set(jobs.map(({ traceId }) => traceId))).toEqual(new Set([ids[1]!.replaceAll("-", "")]));
});

it("D52: without OTEL_ variables the context of the client goes to worker and webhook as it is", {
	timeout: 60_000,
}, async () => {
	// Of servers that share a store, one sends all webhooks.
	const alone = await servers();
	groups.push(alone);
	const d = await alone.spawn({ endpoints: { plain: {} }, env: { SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: "true" } });
	const worker = sdkProtocol(await workerEnvOf(d.url, "plain"));
	protocols.push(worker);
	const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
	await call(d.url, "/v2/plain/run", {
		body: { input: {}, webhook: `${webhooks.url}/plain` },
		headers: { traceparent },
	});
	const job = JSON.parse((await worker.take()).text) as { id: string };
	expect(job).toMatchObject({ traceparent });
	await worker.done(job.id, { output: 1 });
	const [webhook] = await webhooks.arrived(1, "/plain");
	expect(webhook!.headers).toMatchObject({ traceparent });
	await call(d.url, "/v2/plain/run", { body: { input: {} }, headers: { traceparent: "nonsense" } });
	expect(JSON.parse((await worker.take()).text)).not.toHaveProperty("traceparent");
});
