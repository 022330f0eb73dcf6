import { expect, it } from "vitest";
import { httpServer } from "../../../../../test/support/worker-kit/http-servers.ts";
import { jobOf, mappingOf } from "../../../../../test/support/worker-kit/mapping.ts";
import { systemClock } from "../../clock.ts";
import { type JobRequestOptions, JobRequests } from "./job-requests.ts";

it("counts the files of all requests of a job, also those that could not be fetched", async () => {
	const closed = await httpServer(() => {});
	await closed.close();
	const files = [{ field: "f", from: "{input.f}" }];
	const mapping = mappingOf({ request: { urls: "any", files } });
	const job = jobOf({ f: `http://127.0.0.1:${closed.port}/a` });
	const requests = new JobRequests({
		...{ mapping, openai: undefined, job, env: {}, port: undefined },
		...{ clock: systemClock, randomId: () => "b" },
	} as unknown as JobRequestOptions);
	const reasons: string[] = [];
	for (let time = 0; time < 1001; time += 1)
		await requests.prepare(mapping.request).catch(({ message }: Error) => reasons.push(message));
	expect(reasons.filter((each) => each.includes("could not be fetched")).length).toBe(1000);
	expect(reasons.at(-1)).toBe("input.f: a job may name at most 1000 files by address: send fewer, or in more jobs.");
});
