/**
 * A service whose endpoints have small limits, shared by the tests of section 8 (D24). A test file calls
 * {@link useLimitedService} once.
 */
import { afterAll, beforeAll } from "vitest";
import { LIMITED_OPERATIONS } from "../../../src/kernel/core/endpoints/limits.ts";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";
import { KEY, startService, type TestService } from "../../support/service.ts";
import { endWith, endpointsByName } from "../hand-worker.ts";

/** Every limit of an operation is small: two in 10 s, two at once. */
const SMALL = {
	limits: Object.fromEntries(LIMITED_OPERATIONS.map((operation) => [operation, { per10s: 2, concurrent: 2 }])),
	workersMax: 0,
};
const AT_ONCE = {
	limits: Object.fromEntries(LIMITED_OPERATIONS.map((operation) => [operation, { concurrent: 2 }])),
};

export let small: ReturnType<typeof endpointsByName>;
export const AUTH = { Authorization: KEY };

export let clock: ManualClock;
export let service: TestService;

/** Starts it for the tests of a file. */
export function useLimitedService(): void {
	beforeAll(async () => {
		clock = manualClock();
		small = endpointsByName(40, SMALL);
		service = await startService({
			endpoints: {
				...small.settings,
				plain: {},
				off: { limits: "off" },
				held: AT_ONCE,
				hung: AT_ONCE,
				cut: AT_ONCE,
				left: AT_ONCE,
				streams: AT_ONCE,
				events: AT_ONCE,
				piped: AT_ONCE,
				burst: { limits: { status: { per10s: 30, concurrent: "off" } } },
			},
			clock,
		});
	});
	afterAll(() => endWith(service, clock));
}
