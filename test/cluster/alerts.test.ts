/** Alerts of servers that share a PostgreSQL: one sends each, another after it was killed, and all list them (D53). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { submit } from "../support/sdk-worker-bench.ts";
import { servers, type Servers } from "../support/servers.ts";
import { call } from "../support/service.ts";
import { until } from "../support/until.ts";
import { webhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

let group: Servers;
let receiver: WebhookReceiver;

beforeAll(async () => {
	group = await servers();
	receiver = await webhookReceiver();
});
afterAll(async () => {
	await group?.end();
	await receiver?.end();
});

interface Shown {
	name: string;
	status: string;
	labels: { endpoint?: string; instance?: string };
}

/** All that was sent, as texts. */
const sent = (): string[] =>
	receiver.received.flatMap(({ body }) =>
		(JSON.parse(body.toString()).alerts as Shown[]).map(
			({ name, status, labels }) => `${name} ${labels.endpoint ?? labels.instance} ${status}`,
		),
	);

it("D53: one message for all servers; a killed one is reported by another, which sends what fires again", {
	timeout: 180_000,
}, async () => {
	const file = {
		alerts: {
			receivers: [{ type: "webhook", url: receiver.url, secret: `whsec_${Buffer.alloc(32).toString("base64")}` }],
			rules: {
				SluiceOldestWait: { threshold: 1, for: 0 },
				SluiceServerDown: { for: 0 },
				SluiceNoWorkers: { enabled: false },
			},
		},
	};
	const endpoints = { waits: {}, late: {} };
	const all = await Promise.all([0, 1, 2].map(() => group.spawn({ endpoints, file })));
	const leader = await until("a server that sends", async () => {
		const { json } = await call(all[0]!.url, "/v1/servers");
		const found = json.servers.find(({ leads }: { leads: string[] }) => leads.includes("deliveries"));
		return json.servers.length === 3 && all.find(({ url }) => url === found?.url);
	});
	const [other, leaving] = all.filter((each) => each !== leader);
	await submit(other!.url, { input: {} }, "waits");
	await until("it fires", () => sent().includes("SluiceOldestWait waits firing"));
	await until("another server lists it", async () => {
		const { alerts } = (await call(other!.url, "/v1/alerts")).json;
		return alerts[0]?.notifiedAt;
	});
	expect(sent()).toEqual(["SluiceOldestWait waits firing"]);
	// One that stops is no fault.
	await leaving!.end("SIGTERM");
	await leader.end("SIGKILL");
	await until("the killed one is reported", () => sent().includes(`SluiceServerDown ${leader.url} firing`));
	await submit(other!.url, { input: {} }, "late");
	await until("the other one evaluates all rules", () => sent().includes("SluiceOldestWait late firing"));
	await group.spawn({ endpoints, file, in: leader.folder, port: Number(new URL(leader.url).port) });
	await until(
		"what fired before fires at the other one too",
		() => sent().filter((text) => text === "SluiceOldestWait waits firing").length === 2,
	);
	await until("it is up again", () => sent().includes(`SluiceServerDown ${leader.url} resolved`));
	expect(sent().toSorted()).toEqual([
		"SluiceOldestWait late firing",
		"SluiceOldestWait waits firing",
		"SluiceOldestWait waits firing",
		`SluiceServerDown ${leader.url} firing`,
		`SluiceServerDown ${leader.url} resolved`,
	]);
});
