/** Background responses (D58): created, polled, cancelled, deleted. */
import type { OpenAI } from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../../support/manual-clock.ts";
import { call, startService, type TestService } from "../../../support/service.ts";
import { endpointsByName, endWith, handWorker, type HandWorker } from "../../hand-worker.ts";
import { clientOf } from "../files/files-client.ts";
import { created, REQUEST, workersResponse } from "./background-client.ts";

const clock = manualClock();
const unused = endpointsByName(40);
let service: TestService;
let ep: string;
let client: OpenAI;
let worker: HandWorker;
beforeAll(async () => {
	service = await startService({ endpoints: unused.settings, clock });
});
beforeEach(async () => {
	ep = unused.next();
	client = clientOf(service, ep);
	worker = await handWorker(service, ep);
});
afterAll(() => endWith(service, clock));

describe("a response", () => {
	it("D58: is answered at once, polled until its worker has answered, and has its own id", async () => {
		const response = await created(client, { instructions: "Be brief", metadata: { a: "b" }, temperature: 0.5 });
		expect(response).toMatchObject({
			id: expect.stringMatching(/^resp_[0-9a-f-]{36}$/),
			object: "response",
			status: "queued",
			background: true,
			model: "m",
			output: [],
			error: null,
			instructions: "Be brief",
			metadata: { a: "b" },
			temperature: 0.5,
			top_p: 1,
			tools: [],
			tool_choice: "auto",
			parallel_tool_calls: true,
			usage: null,
		});
		expect(response.created_at).toBe(Math.floor(clock.now() / 1000));
		const job = (await worker.take())!;
		expect(job.input).toEqual({
			openai_route: "/v1/responses",
			openai_background: { store: false, stream: false },
			openai_input: {
				...REQUEST,
				instructions: "Be brief",
				metadata: { a: "b" },
				temperature: 0.5,
				background: false,
				stream: false,
				store: false,
			},
		});
		const id = response.id;
		expect(id).toBe(`resp_${job.id}`);
		expect((await client.responses.retrieve(id)).status).toBe("in_progress");
		await worker.done(job.id, { output: workersResponse("Boats") });
		const done = await client.responses.retrieve(id);
		expect(done).toMatchObject({
			id,
			status: "completed",
			background: true,
			output_text: "Boats",
			created_at: response.created_at,
		});
		expect((await call(service.url, `/v2/${ep}/status/${job.id}`)).json.status).toBe("COMPLETED");
	});
});
