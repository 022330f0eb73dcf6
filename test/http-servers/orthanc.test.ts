/** Orthanc: the asynchronous form of a server that knows no job of ours, its percentages, cancellations and losses. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { describe, expect, it, type TestContext } from "vitest";
import type { Folder } from "../support/service.ts";
import { until } from "../support/until.ts";
import { ARCHIVES, COPIES, orthancCommand, withPictures } from "./orthanc.ts";
import { lacking, titled } from "./programs.ts";
import { processEndpoint, SLOW_MS, site } from "./servers.ts";

const reason = lacking("orthanc");

/** A server that Orthanc copies pictures to. It answers each copy when the test says so. */
async function peerOf({ onTestFinished }: Pick<TestContext, "onTestFinished">) {
	const held: ServerResponse[] = [];
	const peer = { url: "", copies: 0, isOpen: false, answer, open };
	const server = createServer((request, response) => {
		request.resume().on("end", () => {
			peer.copies += 1;
			held.push(response);
			if (peer.isOpen) answer();
		});
	});
	/** Answers the copies that are held. */
	function answer(status = 200): void {
		for (const each of held.splice(0)) each.writeHead(status, { "content-type": "application/json" }).end("{}");
	}
	/** Answers these and all that come. */
	function open(): void {
		peer.isOpen = true;
		answer();
	}
	await once(server.listen(0, "127.0.0.1"), "listening");
	onTestFinished(() => {
		server.closeAllConnections();
		server.close();
	});
	peer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
	return peer;
}

/** An endpoint whose Orthanc has pictures, and their ids. */
async function copying(test: TestContext, pictures: number) {
	const peer = await peerOf(test);
	let resources: string[] = [];
	const made = await site(test, async (place: Folder) => {
		const command = orthancCommand(place.path, peer);
		resources = await withPictures(command, pictures);
		return processEndpoint(command, COPIES);
	});
	return { ...made, peer, resources };
}

describe.skipIf(reason !== undefined)(titled("Orthanc as a worker", reason), { timeout: 2 * SLOW_MS }, () => {
	it("makes archives by jobs of its own, whose output is the zip file", async (test) => {
		let resources: string[] = [];
		const { run } = await site(test, async (place) => {
			const command = orthancCommand(place.path);
			resources = await withPictures(command, 3);
			return processEndpoint(command, ARCHIVES);
		});
		const job = await run({ resources });
		expect(job).toMatchObject({ status: "COMPLETED", output: { contentType: "application/zip" } });
		const zip = Buffer.from(job.output.data, "base64");
		expect(zip.length).toBe(job.output.bytes);
		// The end of the central directory of a zip file: a signature, and 10 bytes on the number of files.
		const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
		expect(zip.readUInt16LE(end + 10)).toBe(3);
		expect(await run({ resources: ["none-of-its-own"] })).toMatchObject({
			status: "FAILED",
			error: expect.stringMatching(/^HTTP 404: \{[^]*"OrthancError"/),
		});
	});

	it("reports its percentages, and its failure with its own words", async (test) => {
		const { submit, over, status, peer, resources } = await copying(test, 4);
		const id = await submit({ resources });
		for (const copies of [1, 2, 3, 4]) {
			await until(`copy ${copies}`, () => peer.copies === copies);
			const percent = 25 * (copies - 1);
			if (copies > 1) await until(`${percent} percent`, async () => (await status(id)).output?.percent === percent);
			peer.answer();
		}
		expect(await over(id)).toMatchObject({ status: "COMPLETED", output: { InstancesCount: 4 } });
		const failing = await submit({ resources });
		await until("a copy of the failing job", () => peer.copies === 5);
		peer.answer(500);
		expect(await over(failing)).toMatchObject({ status: "FAILED", error: expect.stringMatching(/network protocol/) });
	});

	it("ends a cancelled job within 5 s, and its server goes on", async (test) => {
		const { submit, over, run, cancel, peer, resources, server } = await copying(test, 3);
		const id = await submit({ resources });
		await until("the first copy", () => peer.copies === 1);
		const { port, worker } = server();
		await cancel(id);
		expect(await over(id)).toMatchObject({ status: "CANCELLED" });
		// Orthanc ends a job between two copies.
		const state = async () => {
			peer.answer();
			const [job] = (await (await fetch(`http://127.0.0.1:${port}/jobs?expand`)).json()) as { State: string }[];
			return job!.State;
		};
		await until("the job's end on the server", async () => (await state()) === "Failure", 5000);
		peer.open();
		const copies = peer.copies;
		expect(copies).toBeLessThan(3);
		expect(await run({ resources: resources.slice(0, 1) })).toMatchObject({ status: "COMPLETED", workerId: worker });
		expect(peer.copies).toBe(copies + 1);
	});

	it("gets no access to the service", async (test) => {
		const { run, resources, peer, server } = await copying(test, 1);
		peer.open();
		await run({ resources });
		const names = server().env.map((each) => each.split("=")[0]);
		expect(names).toContain("RUNPOD_POD_ID");
		expect(names.filter((name) => /^(?:RUNPOD_(?:WEBHOOK|AI)|SLUICE_HTTP)/.test(name!))).toEqual([]);
	});

	it("that is killed in a job is a loss, and the job is repeated", async (test) => {
		const { submit, over, peer, resources, service, server } = await copying(test, 2);
		const id = await submit({ resources });
		await until("the first copy", () => peer.copies === 1);
		const exit = service.next("worker.exited");
		process.kill(server().pid, "SIGKILL");
		expect(await exit).toMatchObject({ code: 137 });
		peer.open();
		expect(await over(id)).toMatchObject({ status: "COMPLETED", output: { InstancesCount: 2 }, retries: 1 });
	});
});
