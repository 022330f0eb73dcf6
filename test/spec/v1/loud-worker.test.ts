/** A worker that prints much: the service goes on, and its log has a bound (D34, D47). */
import { statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LOG_BYTES, logPath, oldPath, startPath } from "../../../src/kernel/launchers/logs/log-files.ts";
import { folder, startService, type TestService } from "../../support/service.ts";
import { until, within } from "../../support/until.ts";
import { operator } from "../operator.ts";

const MIB = 1024 * 1024;

/** At most 200 MB a second, so that the length of the log says how late the service is, on a busy machine too. */
const PRINTS = "head -c 4194304 /dev/zero | tr '\\0' x > piece; while :; do cat piece; sleep 0.02; done";

/** What it has printed when it is stopped. */
const PRINTED = 512 * MIB;

/** What it prints in a second and a half. With `yes`, see decision 0057. */
const SLACK = 256 * MIB;

let service: TestService;
beforeAll(async () => {
	const place = folder();
	const launcher = { type: "process", command: ["sh", "-c", PRINTS], cwd: place.path };
	service = await startService({ in: place, endpoints: { loud: { launcher, workersMax: 1, stopGraceMs: 0 } } });
});
afterAll(async () => {
	// Also where the test has failed: it would print without end.
	if (service) await operator(service).remove("/endpoints/loud?force=true");
	await service?.end();
	service?.folder.remove();
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
