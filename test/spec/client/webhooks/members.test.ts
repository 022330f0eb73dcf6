/** What webhooks of RunPod were seen to contain, beside those of this service: no member is missing. */
import { describe, expect, it } from "vitest";
import { atOnce, handWorker } from "../../hand-worker.ts";
import { webhookSite } from "./site.ts";

const site = webhookSite();
const { hand, submit, ended, arrived, delivered } = site;

async function membersSent(): Promise<string[]> {
	return Object.keys(JSON.parse((await arrived(1))[0]!.body.toString())).toSorted();
}

describe("members of RunPod's webhooks", () => {
	it("spec 4, 6: that of a completed job has all of them, and workerId", async () => {
		const worker = await handWorker(site.service, site.ep);
		const id = await submit();
		await worker.takeThis(id);
		const done = delivered(id);
		await worker.done(id, { output: 1 });
		await atOnce(hand, done);
		const members = ["delayTime", "executionTime", "id", "input", "output", "status", "webhook", "workerId"];
		expect(await membersSent()).toEqual(members);
	});

	it("spec 4, 6: that of a job that ended without a result has all of them", async () => {
		await ended();
		expect(await membersSent()).toEqual(["delayTime", "executionTime", "id", "input", "status", "webhook"]);
	});
});
