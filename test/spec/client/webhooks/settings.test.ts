/** The endpoint's setting `webhooks`: its schedule of attempts (D21). */
import { expect, it } from "vitest";
import { call } from "../../../support/service.ts";
import { webhookSite } from "./site.ts";

const site = webhookSite();
const { ended, over } = site;

async function set(webhooks: object): Promise<void> {
	const { status, text } = await call(site.service.url, `/v1/endpoints/${site.ep}`, {
		method: "PATCH",
		body: { webhooks },
	});
	expect(status, text).toBe(200);
}

it("D21: a list has the waits between the attempts", async () => {
	await set({ schedule: [1000, 5000, 2000] });
	site.reply(() => 500);
	const { state, tries } = await over(await ended());
	expect(state).toBe("failed");
	const waits = tries.slice(1).map(({ at }, n) => at - tries[n]!.at);
	expect(waits).toEqual([1000, 5000, 2000]);
});

it("D21: a receiver that fails for long is called for each delivery; each gives up on its own", async () => {
	await set({ schedule: [] });
	site.reply(() => 500);
	for (let n = 0; n < 15; n += 1)
		expect(await over(await ended())).toMatchObject({ state: "failed", tries: [{ status: 500 }] });
	site.reply(() => 200);
	expect(await over(await ended())).toMatchObject({ state: "delivered" });
});
