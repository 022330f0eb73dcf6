/** Webhooks when the server dies by SIGKILL: at least once (D21). */
import { describe, expect, it } from "vitest";
import { call, folder, type ServiceProcess, spawnService } from "../support/service.ts";
import { silence, webhookReceiver } from "../support/webhook-receiver.ts";
import { until } from "../support/until.ts";

const ENV = { SLUICE_WEBHOOKS_ALLOW_PRIVATE_NETWORKS: "true" };

describe("kill -9 of the server", () => {
	it("D21: a webhook that waits for its next try, and one in the middle of a try, are delivered by the next server", {
		timeout: 60_000,
	}, async ({ onTestFinished }) => {
		const place = folder();
		const down = await webhookReceiver();
		await down.end();
		const stuck = await webhookReceiver({
			reply: (_request, number) => (number === 0 ? silence : 200),
		});
		let service: ServiceProcess | undefined = await spawnService({
			in: place,
			endpoints: { ep: {} },
			env: ENV,
		});
		onTestFinished(async () => {
			await service?.end("SIGKILL");
			place.remove();
		});

		const ended = async (webhook: string): Promise<string> => {
			const { json } = await call(service!.url, "/v2/ep/run", { body: { input: {}, webhook } });
			expect((await call(service!.url, `/v2/ep/cancel/${json.id}`, { method: "POST" })).status).toBe(200);
			return json.id as string;
		};
		const waiting = await ended(down.url);
		await until("the first try to fail", () =>
			service!
				.stderr()
				.includes(
					`the webhook of job ${waiting} to 127.0.0.1:${down.port} failed: the connection ` +
						"was refused; next try in 10 s",
				),
		);
		const tried = await ended(stuck.url);
		await stuck.arrived(1);
		await service.end("SIGKILL");

		const back = await webhookReceiver({ port: down.port });
		service = await spawnService({ in: place, endpoints: { ep: {} }, env: ENV });
		const [late] = await back.arrived(1);
		expect(JSON.parse(late!.body.toString())).toMatchObject({ id: waiting, status: "CANCELLED" });
		const [first, second] = await stuck.arrived(2);
		expect(JSON.parse(second!.body.toString())).toMatchObject({ id: tried, status: "CANCELLED" });
		expect(second!.body).toEqual(first!.body);
		expect(second!.headers["webhook-id"]).toBe(first!.headers["webhook-id"]);
		await back.end();
		await stuck.end();
	});
});
