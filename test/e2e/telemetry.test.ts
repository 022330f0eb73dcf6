/** Spans that a service as a process exports of its workers over OTLP (D52). */
import { join } from "node:path";
import { expect, it } from "vitest";
import { type ReceivedSpan, spansIn } from "../support/otlp.ts";
import { sdkProtocol } from "../support/sdk-protocol.ts";
import { workerEnvOf } from "../support/sdk-worker-bench.ts";
import { call } from "../support/service.ts";
import { untilFits } from "../support/until.ts";
import { webhookReceiver } from "../support/webhook-receiver.ts";
import { blocksOf, write } from "./guide-shell.ts";
import { ended, run, site } from "./site.ts";

const quickly = { OTEL_BSP_SCHEDULE_DELAY: "50" };

it("D52: a job's wait links to the start of its worker, a trace with its phases; a crashed one has its error", {
	timeout: 60_000,
}, async (test) => {
	const collector = await webhookReceiver();
	test.onTestFinished(() => collector.end());
	const place = site(test);
	const service = await place.serve({
		endpoints: {
			ours: place.launched({ workersMax: 1, warmup: { input: {} } }),
			crash: { launcher: { type: "process", command: [process.execPath, "-e", "process.exit(7)"] } },
		},
		env: { ...quickly, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
	});
	const job = await ended(service, "ours", await run(service, "ours", {}));
	const second = await ended(service, "ours", await run(service, "ours", {}));
	await run(service, "crash", {});
	const named = (spans: readonly ReceivedSpan[], name: string) => spans.filter((each) => each.name === name);
	const spans = await untilFits(
		async () => spansIn(collector.received),
		(found) => named(found, "start crash").length > 0 && named(found, "process ours").length === 2,
	);

	const [start] = named(spans, "start ours");
	const phases = spans.filter(({ parentId }) => parentId === start!.spanId);
	expect(phases.map(({ name }) => name)).toEqual(["placement ours", "load ours", "warm_up ours"]);
	expect(phases.map((phase) => phase.start)).toEqual([start!.start, phases[0]!.end, phases[1]!.end]);
	expect(phases[2]!.end).toBe(start!.end);
	expect(start).toMatchObject({
		parentId: "",
		error: false,
		attributes: {
			"messaging.client.id": job.workerId,
			"messaging.destination.name": "ours",
			"sluice.start.outcome": "ready",
		},
	});
	const linksOf = (id: string) =>
		named(spans, "wait ours")
			.filter(({ attributes }) => attributes["messaging.message.id"] === id)
			.map(({ links }) => links);
	expect(linksOf(job.id)).toEqual([[start!.spanId]]);
	expect(linksOf(second.id)).toEqual([[]]);
	const [crashed] = named(spans, "start crash");
	expect(crashed).toMatchObject({
		error: true,
		attributes: { "error.type": "crashed", "sluice.start.outcome": "failed" },
	});
});

it("D52: the span of an OpenAI request has the model, and the tokens of its answer", async (test) => {
	const collector = await webhookReceiver();
	test.onTestFinished(() => collector.end());
	const service = await site(test).serve({
		endpoints: { llm: {} },
		env: { ...quickly, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
	});
	const worker = sdkProtocol(await workerEnvOf(service.url, "llm"));
	test.onTestFinished(() => worker.close());
	for (const usage of [{ prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 }, undefined]) {
		const answer = call(service.url, "/v2/llm/openai/v1/chat/completions", { body: { model: "m", messages: [] } });
		const { id } = JSON.parse((await worker.take()).text) as { id: string };
		await worker.done(id, { output: { choices: [], ...(usage && { usage }) } });
		expect((await answer).status).toBe(200);
	}
	const spans = await untilFits(
		async () => spansIn(collector.received).filter(({ attributes }) => "gen_ai.request.model" in attributes),
		(found) => found.length === 2,
	);
	const genAi = { "gen_ai.request.model": "m", "gen_ai.operation.name": "chat" };
	expect(
		spans.map(({ attributes }) =>
			Object.fromEntries(Object.entries(attributes).filter(([name]) => name.startsWith("gen_ai"))),
		),
	).toEqual([{ ...genAi, "gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 34 }, genAi]);
});

/** RunPod's module as far as the guide uses it. */
const RUNPOD_MODULE = `
import json, os, urllib.request

class serverless:
    @staticmethod
    def start(config):
        me = os.environ["RUNPOD_POD_ID"]
        def ask(url, body=None):
            headers = {"Authorization": os.environ["RUNPOD_AI_API_KEY"]}
            with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
                return answer.status, answer.read()
        while True:
            status, text = ask(os.environ["RUNPOD_WEBHOOK_GET_JOB"].replace("$ID", me) + "&job_in_progress=0")
            if status != 200:
                continue
            job = json.loads(text)
            done = os.environ["RUNPOD_WEBHOOK_POST_OUTPUT"].replace("$RUNPOD_POD_ID", me).replace("$ID", job["id"])
            ask(done + "&isStream=false", json.dumps({"output": config["handler"](job)}).encode())
`;

it("D52: the guide's worker in Python without packages sends a span below that of its attempt", async (test) => {
	const [collector, ofWorker] = await Promise.all([webhookReceiver(), webhookReceiver()]);
	test.onTestFinished(async () => void (await Promise.all([collector.end(), ofWorker.end()])));
	const place = site(test);
	const guide = blocksOf("docs/guides/tracing.md").find(({ text }) => text.includes("urllib"))!.text;
	write(place.folder.path, {
		"runpod.py": RUNPOD_MODULE,
		"worker.py": `def infer(input):\n    return {"length": len(input["text"])}\n\n${guide}`,
	});
	const launcher = { type: "process", command: ["python3", join(place.folder.path, "worker.py")] };
	const service = await place.serve({
		endpoints: { ours: { launcher, env: { OTEL_EXPORTER_OTLP_ENDPOINT: ofWorker.url } } },
		env: { ...quickly, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
	});
	const { json } = await call(service.url, "/v2/ours/run", { body: { input: { text: "four" } } });
	expect(await ended(service, "ours", json.id)).toMatchObject({ status: "COMPLETED", output: { length: 4 } });
	const [sent] = await ofWorker.arrived(1, "/v1/traces");
	const [run] = await untilFits(
		async () => spansIn(collector.received).filter(({ name }) => name === "process ours"),
		(found) => found.length === 1,
	);
	const [{ resource, scopeSpans }] = JSON.parse(sent!.body.toString()).resourceSpans;
	expect(resource.attributes).toEqual([{ key: "service.name", value: { stringValue: "worker" } }]);
	const [{ startTimeUnixNano: start, endTimeUnixNano: end, ...span }] = scopeSpans[0].spans;
	expect(span).toEqual({
		...{ traceId: run!.traceId, parentSpanId: run!.spanId, spanId: expect.stringMatching(/^[0-9a-f]{16}$/) },
		...{ name: "infer", kind: 1 },
	});
	expect(Number(start) / 1e6).toBeGreaterThanOrEqual(run!.start - 1);
	expect(Number(end)).toBeGreaterThanOrEqual(Number(start));
});
