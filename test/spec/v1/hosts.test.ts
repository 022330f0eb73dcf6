/** `/v1/hosts`: machines on which the launcher docker places workers (D44, D39). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { manualClock } from "../../support/manual-clock.ts";
import { startService, type TestService } from "../../support/service.ts";
import { endWith, expectError } from "../hand-worker.ts";
import { operator, type Operator } from "../operator.ts";

const clock = manualClock();
let service: TestService;
let admin: Operator;
beforeAll(async () => {
	const hosts = { rig1: { docker: "unix:///nowhere/docker.sock", workersMax: 2 } };
	service = await startService({ endpoints: { ep: {} }, settings: { hosts }, clock });
	admin = operator(service);
});
afterAll(() => endWith(service, clock));

it("D44: hosts of the configuration are listed, drained and resumed", async () => {
	const host = { name: "rig1", drained: false, workersMax: 2, gpus: [], workers: [] };
	expect((await admin.seen("/hosts")).hosts).toMatchObject([host]);
	expect((await admin.post("/hosts/rig1/drain")).json).toMatchObject({ ...host, drained: true });
	expect((await admin.seen("/hosts")).hosts).toMatchObject([{ ...host, drained: true }]);
	expect((await admin.post("/hosts/rig1/resume")).json).toMatchObject(host);
});

it("D39, D44: a host that is not in the configuration is not found", async () => {
	for (const verb of ["drain", "resume"]) expectError(await admin.post(`/hosts/none/${verb}`), 404, "host_not_found");
});
