/** Uploads that end before their body: the client's doing, no fault of the service. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KEY, startService, type TestService } from "../../support/service.ts";
import { rawConnection, requestText } from "../raw-http.ts";

let service: TestService;
beforeAll(async () => {
	service = await startService({ endpoints: { ep: {} } });
});
afterAll(() => service.end());

/** The response of the next request, when the service has begun it. */
function nextResponse(): Promise<ServerResponse> {
	return new Promise((resolve) => {
		const onStart = (message: unknown): void => {
			unsubscribe("http.server.request.start", onStart);
			resolve((message as { response: ServerResponse }).response);
		};
		subscribe("http.server.request.start", onStart);
	});
}

it.each<[string, string, Record<string, string>]>([
	["of a sign-in without a key", "/console/session", {}],
	["of a job", "/v2/ep/run", { Authorization: KEY }],
])("D3: an upload %s that is cut is no failed request", async (_, path, headers) => {
	const failed: string[] = [];
	const stop = service.events.on("request.failed", ({ path: of }) => void failed.push(of));
	for (const cut of ["destroy", "reset", "end"] as const) {
		const answered = nextResponse();
		const connection = await rawConnection(service.url);
		connection.write(
			requestText({ method: "POST", path, headers: { ...headers, "Content-Length": "100" } }) + '{"key":',
		);
		const response = await answered;
		const closed = once(response, "close");
		if (cut === "reset") connection.reset();
		else connection.socket[cut]();
		await closed;
		await new Promise((resolve) => setImmediate(resolve));
	}
	stop();
	expect(failed).toEqual([]);
});
