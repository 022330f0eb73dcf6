/** The demand of an endpoint, for autoscalers outside of Sluice (D27). */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../support/service.ts";
import { endWith, handWorker, submitted } from "../hand-worker.ts";
import { wantWorkers } from "../wanted-workers.ts";

const clock = manualClock();
let service: TestService;
beforeAll(async () => {
	service = await startService({
		endpoints: {
			each: { workersMax: 3 },
			quiet: {},
			pairs: { workersMin: 1, workersMax: 9, scalerType: "REQUEST_COUNT", scalerValue: 2 },
		},
		clock,
	});
});
afterAll(() => endWith(service, clock));

const demand = async (endpoint: string): Promise<any> =>
	(await call(service.url, `/v1/endpoints/${endpoint}/demand`)).json;

describe("D27: demand", () => {
	it("is one worker for each job, up to workersMax, and counts the wait of the oldest", async () => {
		expect(await demand("each")).toEqual({
			wanted: 0,
			waiting: 0,
			running: 0,
			oldestWaitSeconds: 0,
		});
		const worker = await handWorker(service, "each");
		await worker.takeThis(await submitted(service, "each"));
		await submitted(service, "each");
		await clock.advance(4000);
		expect(await demand("each")).toEqual({
			wanted: 2,
			waiting: 1,
			running: 1,
			oldestWaitSeconds: 4,
		});
		for (let n = 0; n < 5; n += 1) await submitted(service, "each");
		expect(await demand("each")).toMatchObject({ wanted: 3, waiting: 6 });
	});

	it("is one worker for scalerValue jobs with REQUEST_COUNT; a paused endpoint wants workersMin", async () => {
		for (let n = 0; n < 5; n += 1) await submitted(service, "pairs");
		expect(await demand("pairs")).toMatchObject({ wanted: 3, waiting: 5 });
		await call(service.url, "/v1/endpoints/pairs/pause", { method: "POST" });
		expect(await demand("pairs")).toMatchObject({ wanted: 1, waiting: 0, running: 0 });
	});

	it("D57: is one worker for what a module wants, such as a batch, and none while the endpoint is paused", async () => {
		wantWorkers(service).set("quiet", 1).set("pairs", 2);
		expect(await demand("quiet")).toMatchObject({ wanted: 1, waiting: 0 });
		expect(await demand("pairs")).toMatchObject({ wanted: 1 });
	});

	it("needs an endpoint that exists", async () => {
		expect((await call(service.url, "/v1/endpoints/none/demand")).status).toBe(404);
	});
});
