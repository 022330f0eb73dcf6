/** `/v1/endpoints` and the machine of the service: what workers use, folders (D25, D48). */
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { expectError } from "../hand-worker.ts";
import { operator, type Operator } from "../operator.ts";

let service: TestService;
let admin: Operator;
beforeAll(async () => {
	service = await startService({ endpoints: {} });
	admin = operator(service);
});
afterAll(() => service?.end());

/** A new endpoint. */
async function made(settings: object): Promise<string> {
	const { status, json, text } = await admin.post("/endpoints", settings);
	expect(status, text).toBe(201);
	return json.id;
}

it.skipIf(process.platform !== "linux")(
	"D48: ?usage=true adds what launched workers use; processor time from the second call on",
	async () => {
		const started = service.next("worker.launched");
		const id = await made({
			workersMin: 1,
			stopGraceMs: 0,
			launcher: { type: "process", command: [process.execPath, "-e", "for (;;);"] },
		});
		await started;
		const usage = async (): Promise<any> => (await admin.seen(`/endpoints/${id}/workers?usage=true`)).workers[0].usage;
		const first = await usage();
		expect(first).toEqual({ memory: expect.any(Number), processes: 1 });
		await expect.poll(async () => (await usage()).cores).toBeGreaterThan(0);
		await expect.poll(async () => (await usage()).memory).toBeGreaterThan(20_000_000);
		const [plain] = (await admin.seen(`/endpoints/${id}/workers`)).workers;
		expect(plain.usage).toBeUndefined();
		expect(plain.host).toEqual(expect.any(String));
		await admin.remove(`/endpoints/${id}`);
	},
);

it("D25: a folder that is not there is refused; one that is removed later changes nothing", async () => {
	const { folder } = service;
	const launcher = { type: "process", command: ["sleep", "1"], cwd: join(folder.path, "later") };
	const settings = { workersMax: 0, launcher };
	expectError(await admin.post("/endpoints", settings), 400, "bad_request", ["launcher.cwd"]);
	mkdirSync(launcher.cwd);
	const id = await made(settings);
	rmdirSync(launcher.cwd);
	expect((await admin.patch(`/endpoints/${id}`, { idleTimeout: 7 })).status).toBe(200);
	const file = join(folder.path, "sluice.yaml");
	expectError(await admin.patch(`/endpoints/${id}`, { launcher: { cwd: file } }), 400, "bad_request", ["launcher.cwd"]);
});
