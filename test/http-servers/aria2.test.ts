/** aria2: JSON-RPC by POST for submission, poll and cancellation, with errors under 200. */
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, type TestContext } from "vitest";
import { until } from "../support/until.ts";
import { ARIA2_ENV, aria2Command, DOWNLOADS } from "./aria2.ts";
import { lacking, titled } from "./programs.ts";
import { processEndpoint, SLOW_MS, site } from "./servers.ts";

const reason = lacking("aria2");

/** A server with files: `/file` has a text, `/held` half of one until the test ends it, all else is 404. */
async function filesOf({ onTestFinished }: Pick<TestContext, "onTestFinished">) {
	const files = { url: "", asked: 0, held: [] as ServerResponse[], closed: 0 };
	const server = createServer(({ url }, response) => {
		files.asked += 1;
		if (url === "/file") return response.end("its content");
		if (url !== "/held") return response.writeHead(404).end();
		response.on("close", () => (files.closed += 1));
		response.writeHead(200, { "content-length": 8 }).write("half");
		return files.held.push(response);
	});
	await once(server.listen(0, "127.0.0.1"), "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	files.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	return files;
}

async function downloading(test: TestContext, more: object = {}) {
	const files = await filesOf(test);
	const made = await site(test, (place) =>
		processEndpoint(aria2Command(place.path), { ...DOWNLOADS, ...more }, { env: ARIA2_ENV }),
	);
	return { ...made, files };
}

describe.skipIf(reason !== undefined)(titled("aria2 as a worker", reason), { timeout: 2 * SLOW_MS }, () => {
	it("downloads what jobs name", async (test) => {
		const { run, files, place } = await downloading(test);
		const job = await run({ url: `${files.url}/file` });
		expect(job).toMatchObject({ status: "COMPLETED", output: { status: "complete", completedLength: "11" } });
		expect(job.output.files[0].path).toBe(join(place.path, "downloads", `${job.id}-1`));
		expect(readFileSync(job.output.files[0].path, "utf8")).toBe("its content");
	});

	it("fails with its words: for a refused submission, and for a download that is an error under 200", async (test) => {
		const { run, files } = await downloading(test);
		expect(await run({ url: "no-address" })).toMatchObject({
			status: "FAILED",
			error: expect.stringMatching(/^HTTP 400: \{[^]*"message":/),
		});
		expect(await run({ url: `${files.url}/absent` })).toMatchObject({
			status: "FAILED",
			error: "Resource not found",
		});
		expect(files.asked).toBe(1);
	});

	it("ends a cancelled download within 5 s, and goes on", async (test) => {
		const { submit, over, run, cancel, files, server } = await downloading(test);
		const id = await submit({ url: `${files.url}/held` });
		await until("the download to begin", () => files.held.length === 1);
		const { worker } = server();
		await cancel(id);
		await until("the download to end", () => files.closed === 1, 5000);
		expect(await over(id)).toMatchObject({ status: "CANCELLED" });
		expect(await run({ url: `${files.url}/file` })).toMatchObject({ status: "COMPLETED", workerId: worker });
	});

	it("that is killed amid a download is a loss, and the download is repeated", async (test) => {
		const { submit, over, files, service, server } = await downloading(test);
		const id = await submit({ url: `${files.url}/held` });
		await until("the download to begin", () => files.held.length === 1);
		const exit = service.next("worker.exited");
		process.kill(server().pid, "SIGKILL");
		expect(await exit).toMatchObject({ code: 137 });
		await until("the second download", () => files.held.length === 2);
		files.held[1]!.end("half");
		expect(await over(id)).toMatchObject({ status: "COMPLETED", output: { completedLength: "8" }, retries: 1 });
	});
});
