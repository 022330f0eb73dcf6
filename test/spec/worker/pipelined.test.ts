/**
 * Our worker kit sends posts one behind the other on a connection without waiting for their
 * answers: each is answered.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, startService, type TestService } from "../../support/service.ts";
import { handWorker, submitted } from "../hand-worker.ts";
import { rawConnection, requestText } from "../raw-http.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
});
afterAll(() => service.end());

it("protocol B.5, D7: chunks that are posted together on one connection are kept and answered in order", async () => {
	const worker = await handWorker(service, "ep");
	const ids = [await submitted(service, "ep"), await submitted(service, "ep"), await submitted(service, "ep")];
	for (const id of ids) expect((await worker.take({ busy: true }))?.id).toBe(id);
	const connection = await rawConnection(service.url);
	const post = (id: string): string =>
		requestText({
			method: "POST",
			path: `/worker/ep/job-stream/${worker.id}/${id}?isStream=false`,
			headers: { Authorization: worker.token },
			body: `{"output":"${id}"}`,
		});
	connection.write(ids.map(post).join(""));
	for (const _ of ids) expect((await connection.answer()).status).toBe(200);
	for (const id of ids)
		expect((await call(service.url, `/v2/ep/stream/${id}`)).json).toEqual([{ output: id, metrics: {} }]);
	connection.socket.destroy();
});
