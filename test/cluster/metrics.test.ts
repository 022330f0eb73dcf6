/**
 * Metrics of several servers: each counts what it did, all report the sum; what is live is heard from
 * the others; a worker is stopped through any of them (D31, D39, D40).
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, KEY } from "../support/service.ts";
import { servers, type Servers, type TestServer } from "../support/servers.ts";

const ENDPOINTS = {
	ep: {},
	launched: {
		launcher: { type: "process", command: ["sleep", "300"] },
		workersMin: 1,
		workersMax: 1,
		stopGraceMs: 0,
	},
};

let group: Servers;
let [one, two]: TestServer[] = [];
beforeAll(async () => {
	group = await servers();
	one = await group.start({ endpoints: ENDPOINTS });
	two = await group.start({ endpoints: ENDPOINTS });
});
afterAll(() => group?.end());

const sum = (line: readonly (number | null)[]): number =>
	line.reduce<number>((total, value) => total + (value ?? 0), 0);

/** Resolves when the feed of this server reports the endpoint so. */
async function untilReported({ url }: TestServer, fits: (endpoint: any) => boolean): Promise<void> {
	const { body } = await fetch(`${url}/v1/feed?interval=1`, { headers: { authorization: `Bearer ${KEY}` } });
	let text = "";
	for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
		const events = (text + chunk).split("\n\n");
		text = events.pop()!;
		const overviews = events.flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? []);
		for (const overview of overviews)
			if ((JSON.parse(overview).endpoints as { id: string }[]).some((each) => each.id === "ep" && fits(each))) return;
	}
	throw new Error("The feed has ended.");
}

async function submit({ url }: TestServer): Promise<string> {
	return (await call(url, "/v2/ep/run", { body: { input: {} } })).json.id as string;
}

it("D31: a worker is stopped through a server that did not start it, also from the console", async () => {
	const workers = async (): Promise<{ id: string; state: string }[]> =>
		(await call(one!.url, "/v1/endpoints/launched/workers")).json.workers;
	const signedIn = await call(one!.url, "/console/session", { key: null, body: { key: KEY } });
	const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
	const session = { cookie, "sluice-page-token": signedIn.json.pageToken as string };
	for (const [server, init] of [
		[one!, {}],
		[two!, {}],
		[one!, { key: null, headers: { ...session, origin: one!.url } }],
		[two!, { key: null, headers: { ...session, origin: two!.url } }],
	] as const) {
		const launched = Promise.race([one!, two!].map((each) => each.next("worker.launched")));
		const [worker] = (await workers()).filter(({ state }) => state !== "stopping");
		const id = worker?.id ?? (await launched).worker;
		const exited = Promise.race([one!, two!].map((each) => each.next("worker.exited", (facts) => facts.worker === id)));
		// The others hear of a worker with the next sign of life of its server.
		for (let status = 404; status === 404; )
			({ status } = await call(server.url, `/v1/endpoints/launched/workers/${id}/stop`, {
				method: "POST",
				...init,
			}));
		expect((await exited).worker).toBe(id);
	}
});

it("D40: what each server counted adds up, and what another one does is reported live", async () => {
	const heard = untilReported(two!, ({ perMinute, spark }) => perMinute.cancelled === 3 && sum(spark) === 3);
	const ids = [await submit(one!), await submit(one!), await submit(two!), await submit(two!), await submit(two!)];
	for (const [index, id] of ids.slice(0, 3).entries())
		await call((index === 0 ? two! : one!).url, `/v2/ep/cancel/${id}`, { method: "POST" });
	await heard;
	const from = Date.now() - 120_000;
	const history = async (server: TestServer): Promise<any> =>
		(await call(server.url, `/v1/endpoints/ep/metrics?from=${from}&step=60000`)).json.series;
	const before = await history(two!);
	expect([sum(before.submitted), sum(before.cancelled)]).toEqual([3, 1]);
	await two!.stop();
	const after = await history(one!);
	expect([sum(after.submitted), sum(after.cancelled), Math.max(...after.queued)]).toEqual([5, 3, expect.any(Number)]);
});
