/**
 * A service with endpoints that wait for different reasons, a new endpoint for each test. A test file
 * calls {@link useJobService} once.
 */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";
import { startService, type TestService } from "../../support/service.ts";
import { endWith, endpointsByName } from "../hand-worker.ts";
import { operator, type Operator } from "../operator.ts";

const launched = (code: string, rest: object = {}): object => ({
	launcher: { type: "process", command: [process.execPath, "-e", code] },
	stopGraceMs: 0,
	...rest,
});
const HANGS = "setInterval(() => {}, 1000)";
export let clock: ManualClock;
export let service: TestService;
export let admin: Operator;
export let ep: string;

/** Starts it for the tests of a file. */
export function useJobService(): void {
	const unused = endpointsByName(30, { retention: { run: 60_000, records: 600_000 } });
	beforeAll(async () => {
		clock = manualClock();
		const launching = {
			none: launched(HANGS, { workersMax: 0 }),
			slow: launched(HANGS),
			broken: launched("process.exit(3)"),
			rare: launched(HANGS),
			graphic: launched(HANGS, { gpusPerWorker: 1 }),
		};
		service = await startService({ endpoints: { ...unused.settings, ...launching }, clock });
		admin = operator(service);
	});
	beforeEach(() => void (ep = unused.next()));
	afterAll(() => endWith(service, clock));
}

export const job = (id: string, endpoint = ep): Promise<any> => admin.seen(`/endpoints/${endpoint}/jobs/${id}`);
