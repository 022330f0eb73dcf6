/**
 * Results around the limit of 64 MiB, posted to the service as a process of its own (D19,
 * protocol B.6).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sdkProtocol, type SdkProtocol } from "../../support/sdk-protocol.ts";
import { EP, idsOf, statusOf, submit, workerEnvOf } from "../../support/sdk-worker-bench.ts";
import { call, folder, type Folder, type ServiceProcess, spawnService } from "../../support/service.ts";
import { request } from "../../support/transport.ts";

const MIB = 1024 * 1024;
const LIMIT = 64 * MIB;

let place: Folder;
let service: ServiceProcess;
let worker: SdkProtocol;
beforeAll(async () => {
	place = folder();
	service = await spawnService({ in: place, endpoints: { [EP]: {} } });
	worker = sdkProtocol(await workerEnvOf(service.url));
});
afterAll(async () => {
	worker?.close();
	await service?.end("SIGKILL");
	place.remove();
});

/** A job in the worker's hands. */
async function running(): Promise<string> {
	const id = await submit(service.url);
	expect(idsOf(await worker.take({ busy: true }))).toEqual([id]);
	return id;
}

function* letters(bytes: number): Generator<Buffer> {
	for (let left = bytes; left > 0; left -= MIB) yield Buffer.alloc(Math.min(MIB, left), 0x61);
}

describe("D19: a result over 64 MiB makes the job FAILED with the reason and the size", () => {
	it("with a Content-Length: settled before the body; the body is read to its end and answered 200", async () => {
		const id = await running();
		const answered = new Promise<number>((resolve, reject) => {
			const headers = {
				authorization: worker.env["RUNPOD_AI_API_KEY"],
				"content-type": "application/x-www-form-urlencoded",
				"content-length": LIMIT + 1,
			};
			const req = request(
				`${service.url}/worker/${EP}/job-done/${worker.id}/${id}?gpu=none&isStream=false`,
				{ method: "POST", headers },
				(res) => {
					res.resume().on("end", () => resolve(res.statusCode!));
				},
			);
			req.on("error", reject);
			req.write('{"output":"');
			void call(service.url, `/v2/${EP}/status-sync/${id}`)
				.then(({ json }) => {
					expect(json.status).toBe("FAILED");
					for (const piece of letters(LIMIT + 1 - 13)) req.write(piece);
					req.end('"}');
				})
				.catch(reject);
		});
		expect(await answered).toBe(200);
		expect(await statusOf(service.url, id)).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining(`${LIMIT + 1} bytes`),
		});
	});

	it("in chunks, whose size is known only when it is too late", async () => {
		const id = await running();
		const { status } = await worker.doneRaw(
			id,
			(function* () {
				yield '{"output":"';
				yield* letters(LIMIT);
				yield '"}';
			})(),
		);
		expect(status).toBe(200);
		expect(await statusOf(service.url, id)).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining(`over ${LIMIT} bytes`),
		});
	});

	it("64 MiB exactly is kept and answered whole", async () => {
		const id = await running();
		const body = Buffer.concat([Buffer.from('{"output":"'), ...letters(LIMIT - 13), Buffer.from('"}')]);
		expect(body.length).toBe(LIMIT);
		expect((await worker.done(id, body)).status).toBe(200);
		const { status, output } = await statusOf(service.url, id);
		expect({ status, length: output.length }).toEqual({ status: "COMPLETED", length: LIMIT - 13 });
	});
});
