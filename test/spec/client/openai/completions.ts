/**
 * A service with a worker at `/openai/*`, an endpoint of its own for each test (D32). A test file calls
 * {@link useCompletions} once.
 */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type ManualClock, manualClock } from "../../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../../support/service.ts";
import { endpointsByName, endWith, handWorker, type HandWorker, type Taken } from "../../hand-worker.ts";

export let clock: ManualClock;
export let service: TestService;
export let ep: string;
export let path: string;
export let worker: HandWorker;

/** Starts it for the tests of a file. */
export function useCompletions(): void {
	// Results are kept long, because the time of these tests may run ahead of their disk.
	const unused = endpointsByName(60, {
		executionTimeoutMs: 10_000,
		retention: { runsync: 3_600_000 },
	});
	beforeAll(async () => {
		clock = manualClock();
		service = await startService({
			endpoints: {
				...unused.settings,
				full: { limits: { queue: 0 } },
				busy: { limits: { openai: { per10s: 1 } } },
				usual: {},
			},
			clock,
		});
	});
	beforeEach(() => useEndpoint(unused.next()));
	afterAll(() => endWith(service, clock));
}

/** From here on the test is about this endpoint. */
export async function useEndpoint(id: string, route = "chat/completions"): Promise<void> {
	ep = id;
	path = `/v2/${ep}/openai/v1/${route}`;
	worker = await handWorker(service, ep);
}

export const BODY = { model: "m", messages: [] };
/** Each way of asking. */
export const BOTH = [[BODY], [{ ...BODY, stream: true }]] as const;

/** Sends a request, has the worker do `work` with its job, and answers what came of it. */
export async function answered(
	work: (job: Taken) => Promise<void>,
	init: Parameters<typeof call>[2] = { body: BODY },
	at = path,
): ReturnType<typeof call> {
	const answer = call(service.url, at, init);
	await work((await worker.take())!);
	return await answer;
}
