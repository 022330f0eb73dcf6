/** Lines for a collector over a real connection: taken, refused, and too many (D52). */
import { expect, it } from "vitest";
import { logsIn } from "../../test/support/otlp.ts";
import { webhookReceiver } from "../../test/support/webhook-receiver.ts";
import { serviceResource } from "./resource.ts";
import { openLogs } from "./log-exporter.ts";

it("D52: lines of the service wait for the next export, too many or refused ones are counted as dropped", async (test) => {
	const collector = await webhookReceiver({ reply: (_request, number) => (number === 1 ? 400 : 200) });
	const before = process.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
	process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url;
	test.onTestFinished(async () => {
		delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
		if (before !== undefined) process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = before;
		await collector.end();
	});
	const resource = serviceResource({ version: "1", instance: "i" });
	const logs = openLogs({ delayMs: 1000 }, { resource, version: "1", now: () => 5000 });
	const time = new Date(3000).toISOString();
	logs.add(`${JSON.stringify({ level: "warn", time, event: "x.y", endpoint: "e", list: [1], msg: "Sentence" })}\n`);
	await logs.send([{ text: "of a worker", at: 4000, attributes: { a: 1 } }]);
	expect(logs.counts).toEqual({ exported: 2, dropped: 0 });
	const none = { traceId: "", spanId: "" };
	expect(logsIn(collector.received)).toEqual([
		{
			...{ body: "Sentence", severity: 13, time: 3000, ...none },
			attributes: { "sluice.event": "x.y", "sluice.endpoint": "e", "sluice.list": "[1]" },
		},
		{ body: "of a worker", severity: 0, time: 4000, ...none, attributes: { a: 1 } },
	]);
	await logs.send([{ text: "refused", at: 4000, attributes: {} }]);
	expect(logs.counts).toEqual({ exported: 2, dropped: 1 });
	for (let line = 0; line < 66; line += 1) logs.add("x".repeat(20_000));
	expect(logs.counts).toEqual({ exported: 2, dropped: 3 });
	await logs.close();
	expect(logs.counts).toEqual({ exported: 66, dropped: 3 });
	const last = logsIn(collector.received).at(-1)!;
	expect([last.body.length, last.time]).toEqual([16_384, 5000]);
});
