/** A worker that prints as fast as it can: the service goes on, and its log has a bound (D34, D47). */
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LOG_BYTES, logPath, oldPath, startPath } from "../../../src/launchers/logs/log-files.ts";
import { startService, type TestService } from "../../support/service.ts";
import { until, within } from "../../support/until.ts";
import { operator } from "../operator.ts";

const MIB = 1024 * 1024;

/** What it has printed when it is stopped. */
const PRINTED = 2048 * MIB;

/**
 * Beyond the bound, what is printed until the service looks and the system has copied and emptied the file: 130 to
 * 560 MiB on two cores that other tests use too. Before, it was 2.8 to 6.1 GB, and the service stood still for 16 s.
 */
const SLACK = 1024 * MIB;

let service: TestService;
beforeAll(async () => {
	const launcher = { type: "process", command: ["yes"] };
	service = await startService({ endpoints: { loud: { launcher, workersMax: 1, stopGraceMs: 0 } } });
});
afterAll(async () => {
	// Also where the test has failed: it would print without end.
	if (service) await operator(service).remove("/endpoints/loud?force=true");
	await service?.end();
});

it("D47: its log is bounded while it prints, the end of it is kept, and the event loop does not wait", async () => {
	const started = service.next("worker.launched");
	await operator(service).patch("/endpoints/loud", { workersMin: 1 });
	const { worker } = await within("the worker", started);
	const log = logPath(join(service.folder.path, "logs", "process"), worker);
	const delay = monitorEventLoopDelay({ resolution: 5 });
	delay.enable();
	let largest = 0;
	await until("much output", async () => {
		largest = Math.max(largest, statSync(log).size);
		return Number(await readFile(startPath(log), "utf8")) > PRINTED;
	});
	delay.disable();
	const ended = service.next("worker.exited");
	await operator(service).patch("/endpoints/loud", { workersMin: 0, workersMax: 0 });
	await within("its end", ended);
	expect(largest).toBeLessThan(LOG_BYTES + SLACK);
	await until("the end of it", () => statSync(oldPath(log)).size === LOG_BYTES && statSync(log).size <= LOG_BYTES);
	expect(delay.max / 1e6, "ms").toBeLessThan(1000);
}, 120_000);
