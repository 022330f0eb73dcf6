/** Lines for a collector over a real connection: taken and refused (D52). */
import { expect, it, type TestContext } from "vitest";
import { logsIn } from "../../../test/support/otlp.ts";
import { webhookReceiver } from "../../../test/support/webhook-receiver.ts";
import { openLogs } from "./log-exporter.ts";
import { serviceResource } from "./resource.ts";

async function bed(test: TestContext, reply: (number: number) => number) {
	const collector = await webhookReceiver({ reply: (_request, number) => reply(number) });
	const before = process.env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"];
	process.env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] = `${collector.url}/v1/logs`;
	test.onTestFinished(async () => {
		delete process.env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"];
		if (before !== undefined) process.env["OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"] = before;
		await collector.end();
	});
	const resource = serviceResource({ version: "1", instance: "i" });
	return { collector, logs: openLogs({ resource, version: "1", now: () => 5000 }) };
}

it("D52: lines that the collector refuses are counted as dropped", async (test) => {
	const { collector, logs } = await bed(test, (number) => (number === 1 ? 400 : 200));
	const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16), isSampled: true };
	await logs.send([
		{ text: "one", at: 4000, level: "WARN", attributes: { a: 1 }, trace },
		{ text: "two", at: 4001, attributes: {} },
	]);
	expect(logs.counts).toEqual({ exported: 2, dropped: 0 });
	const { isSampled: _, ...ids } = trace;
	const received = [
		{ body: "one", severity: 13, time: 4000, attributes: { a: 1 }, ...ids },
		{ body: "two", severity: 0, time: 4001, attributes: {}, traceId: "", spanId: "" },
	];
	expect(logsIn(collector.received)).toEqual(received);
	await logs.send([{ text: "refused", at: 4000, attributes: {} }]);
	expect(logs.counts).toEqual({ exported: 2, dropped: 1 });
	await logs.close();
});

it("D52: no line of many workers at once is dropped", async (test) => {
	const { logs } = await bed(test, () => 200);
	const sends = Array.from({ length: 40 }, (_, n) => logs.send([{ text: `${n}`, at: 4000, attributes: {} }]));
	await Promise.all(sends);
	expect(logs.counts).toEqual({ exported: 40, dropped: 0 });
	await logs.close();
});
