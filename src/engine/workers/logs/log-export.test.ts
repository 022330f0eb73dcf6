/** Which lines of workers are exported (D52), from real log files. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, type TestContext } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { withoutSecrets } from "../../../core/workers/ended-worker.ts";
import { eventBus } from "../../../events.ts";
import { boundLog, logPath } from "../../../launchers/logs/log-files.ts";
import { workerLogs } from "../../../launchers/logs/worker-logs.ts";
import type { ExportedLine } from "../../../telemetry/contract.ts";
import { workerRegistry } from "../worker-registry.ts";
import { workerLogExport } from "./log-export.ts";

const PEM = "-----BEGIN-----\nplanted-first\nplanted-second\n-----END-----";

function bed({ onTestFinished }: TestContext) {
	const folder = mkdtempSync(join(tmpdir(), "sluice-logs-"));
	const clock = manualClock();
	const events = eventBus();
	const registry = workerRegistry(events);
	const sent: ExportedLine[] = [];
	const { service, handed } = workerLogExport({
		...{ events, clock, registry, workerLogs: workerLogs([folder], clock) },
		exporter: {
			...{ delayMs: 1000, counts: { exported: 0, dropped: 0 }, add: () => {} },
			send: async (lines) => void sent.push(...lines),
		},
		withoutSecrets: (_, text) => withoutSecrets(text, { PEM }),
	});
	onTestFinished(async () => {
		await service.stop();
		rmSync(folder, { recursive: true });
	});
	const path = logPath(folder, "w");
	registry.meet({ id: "w", endpoint: "e", launcher: "process", ready: false, now: clock.now() });
	return {
		...{ events, registry, path, service, handed, sent, name: { endpoint: "e", worker: "w" } },
		/** What was exported by a stop, which exports once more. */
		async texts() {
			service.start();
			await service.stop();
			return sent.splice(0).map(({ text }) => text);
		},
	};
}

it("D52: each line once: of a worker that is launched all, of one that is taken over what it writes from then on", async (test) => {
	for (const [event, expected] of [
		["worker.launched", ["one", "two"]],
		["worker.adopted", []],
	] as const) {
		const { events, name, path, texts } = bed(test);
		writeFileSync(path, "one\ntwo\nthr");
		events.emit(event, name);
		expect(await texts()).toEqual(expected);
		appendFileSync(path, "ee\nfour");
		expect(await texts()).toEqual([event === "worker.adopted" ? "ee" : "three"]);
		const exit = { code: 0, signal: undefined, lastOutput: "" };
		events.emit("worker.exited", { ...name, ...exit });
		expect(await texts()).toEqual(["four"]);
		appendFileSync(path, "of nobody\n");
		expect(await texts()).toEqual([]);
	}
});

it("D52: one that ends before its start is recorded; what a rotation removed is named", async (test) => {
	const { events, registry, name, path, texts } = bed(test);
	writeFileSync(path, "only this\n");
	events.emit("worker.exited", { ...name, code: 1, signal: undefined, lastOutput: "" });
	registry.forget(registry.get({ endpoint: "e", id: "w" })!);
	events.emit("worker.launched", name);
	expect(await texts()).toEqual(["only this"]);
	const rotated = bed(test);
	rotated.events.emit("worker.launched", rotated.name);
	for (const line of ["first\n", "second\n"]) {
		appendFileSync(rotated.path, line);
		boundLog(rotated.path, 1);
	}
	appendFileSync(rotated.path, "third\n");
	expect(await rotated.texts()).toEqual(["6 bytes were removed before they could be exported.", "second", "third"]);
});

it("D52: a secret of several lines is in none, together or apart, and the lines keep their jobs", async (test) => {
	const { events, name, path, handed, service, sent } = bed(test);
	events.emit("worker.launched", name);
	const sdk = JSON.stringify({ requestId: "j2", message: "runs", level: "INFO" });
	writeFileSync(path, `key:\n${PEM}\nand planted-second\n${sdk}\n`);
	for (let number = 0; number <= 64; number += 1) handed({ id: `j${number}`, worker: "w", attempt: number }, undefined);
	service.start();
	await service.stop();
	expect(JSON.stringify(sent)).not.toContain("planted-");
	expect(sent.map(({ text }) => text)).toEqual(["key:", "[PEM]", "[PEM]", "[PEM]", "[PEM]", "and [PEM]", "runs"]);
	expect(sent.at(-1)).toMatchObject({
		level: "INFO",
		attributes: { "messaging.message.id": "j2", "sluice.attempt": 2 },
	});
	appendFileSync(path, `${sdk.replace("j2", "j0")}\n`);
	service.start();
	await service.stop();
	// The attempts of the last 64 jobs are known.
	expect(sent.at(-1)!.attributes).toEqual({
		"messaging.destination.name": "e",
		"messaging.client.id": "w",
		"messaging.message.id": "j0",
	});
});
