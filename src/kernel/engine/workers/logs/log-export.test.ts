/** Which lines of workers are exported (D52), from real log files. */
import { createHash } from "node:crypto";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, type TestContext } from "vitest";
import { given } from "../../../../../test/support/given.ts";
import { until } from "../../../../../test/support/until.ts";
import { eventBus } from "../../../events.ts";
import { logPath } from "../../../launchers/logs/log-files.ts";
import { workerLogs } from "../../../launchers/logs/worker-logs.ts";
import { systemClock } from "../../../system/clock.ts";
import { backgroundTasks } from "../../../system/loop.ts";
import type { ExportedLine } from "../../../telemetry/contract.ts";
import { workerRegistry } from "../worker-registry.ts";
import { exportWorkerLogs } from "./log-export.ts";

const ID = "e-0123456789ab";

const PEM = "-----BEGIN-----\nplanted-first\nplanted-second\n-----END-----";

function bed({ onTestFinished }: TestContext) {
	const folder = mkdtempSync(join(tmpdir(), "sluice-logs-"));
	const clock = systemClock;
	const events = eventBus();
	const registry = workerRegistry(events);
	const background = backgroundTasks(() => {});
	const faults: string[] = [];
	events.on("fault", ({ where }) => faults.push(where));
	const sent: ExportedLine[] = [];
	const handed = exportWorkerLogs(
		given({ events, clock, registry, background, workerLogs: workerLogs([folder], clock) }),
		{ counts: { exported: 0, dropped: 0 }, send: async (lines) => void sent.push(...lines) },
	);
	onTestFinished(async () => {
		await background.stop();
		rmSync(folder, { recursive: true });
	});
	const worker = registry.meet({ id: ID, endpoint: "e", launcher: "process", ready: false, now: 0 });
	worker.hidden = { PEM };
	const name = { endpoint: "e", worker: ID };
	return {
		...{ events, path: logPath(folder, ID), handed, sent, faults, name, worker },
		exits(): void {
			events.emit("worker.exited", { ...name, code: 0, signal: undefined, lastOutput: "" });
			registry.forget(worker);
		},
		/** Resolves when so many lines have been exported. */
		texts: (count: number) => until(`${count} lines`, () => sent.length >= count && sent.map(({ text }) => text)),
	};
}

it("D52: of a worker that is launched each line is exported once, to its end", async (test) => {
	const { events, name, path, texts, exits } = bed(test);
	writeFileSync(path, "one\ntwo\nthr");
	events.emit("worker.launched", name);
	expect(await texts(2)).toEqual(["one", "two"]);
	appendFileSync(path, "ee\nfour");
	expect(await texts(3)).toEqual(["one", "two", "three"]);
	exits();
	expect(await texts(4)).toEqual(["one", "two", "three", "four"]);
});

it("D52: of one that a restart takes over what it writes from then on", async (test) => {
	const { events, name, path, sent } = bed(test);
	writeFileSync(path, "before\n");
	events.emit("worker.adopted", name);
	// It begins at the end that it finds, at a time that nothing reports.
	await until("a line", () => {
		appendFileSync(path, "after\n");
		return sent.length > 0;
	});
	expect(new Set(sent.map(({ text }) => text))).toEqual(new Set(["after"]));
});

it("D52: one that ends before its start is recorded has lines too; one without output is no fault", async (test) => {
	const { events, name, path, texts, exits } = bed(test);
	writeFileSync(path, "only this\n");
	exits();
	events.emit("worker.launched", name);
	expect(await texts(1)).toEqual(["only this"]);
	const silent = bed(test);
	silent.exits();
	await new Promise((resolve) => setImmediate(resolve));
	expect(silent.faults).toEqual([]);
});

it("D52: a secret of several lines is in none, together or apart; of a job the attempt is known", async (test) => {
	const { events, name, path, handed, sent, texts } = bed(test);
	const sdk = (id: string): string => `${JSON.stringify({ requestId: id, message: id, level: "INFO" })}\n`;
	writeFileSync(path, `key:\n${PEM}\nand planted-second\n`);
	events.emit("worker.launched", name);
	const hidden = ["key:", "[PEM]", "[PEM]", "[PEM]", "[PEM]", "and [PEM]"];
	expect(await texts(6)).toEqual(hidden);
	for (let number = 0; number <= 64; number += 1)
		handed({ endpoint: "e", id: `j${number}`, worker: ID, attempt: number }, undefined);
	appendFileSync(path, sdk("j1") + sdk("j0"));
	expect((await texts(8)).slice(6)).toEqual(["j1", "j0"]);
	const common = { "messaging.destination.name": "e", "messaging.client.id": ID };
	expect(sent.slice(6).map(({ level, attributes }) => ({ level, attributes }))).toEqual([
		{ level: "INFO", attributes: { ...common, "messaging.message.id": "j1", "sluice.attempt": 1 } },
		// The attempts of the last 64 jobs are known.
		{ level: "INFO", attributes: { ...common, "messaging.message.id": "j0" } },
	]);
	expect(JSON.stringify(sent)).not.toContain("planted-");
});

it("D52: a secret across the border of two pieces of a long line is in neither", async (test) => {
	const { events, name, path, worker, texts } = bed(test);
	worker.hidden = { TOKEN: "planted-token-of-a-worker" };
	const long = "x".repeat(16 * 1024 - 11);
	writeFileSync(path, `${long}planted-token-of-a-worker y\n`);
	events.emit("worker.launched", name);
	expect(await texts(2)).toEqual([`${long}[TOKEN]`, "[TOKEN] y"]);
});

// A search for each line alone held up the service for 11 s.
it("D52: lines around many values that stand in several of them are hidden in one go", {
	timeout: 5000,
}, async (test) => {
	const { events, name, path, worker, texts } = bed(test);
	const bundle = Array.from({ length: 1500 }, (_, n) => createHash("sha384").update(`${n}`).digest("base64"));
	worker.hidden = { BUNDLE: bundle.join("\n") };
	const others = Array.from({ length: 20_000 }, (_, n) => `line ${n}`);
	writeFileSync(path, `${[...bundle.slice(-2), ...others].join("\n")}\n`);
	events.emit("worker.launched", name);
	expect(await texts(20_002)).toEqual(["[BUNDLE]", "[BUNDLE]", ...others]);
});

it("D52: of one whose hidden values are not known nothing is exported", async (test) => {
	const { events, name, path, worker, exits, sent } = bed(test);
	delete worker.hidden;
	writeFileSync(path, `${PEM}\n`);
	events.emit("worker.adopted", name);
	exits();
	await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
	expect(sent).toEqual([]);
});
