/** Hosts in the console (D44): none, unreachable ones, GPUs and their workers; drained and resumed. */
import { describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { T } from "../../console/src/text/text.ts";
import type { Gpu } from "../../src/modules/gpus/routes.ts";
import type { Host } from "../../src/modules/docker/routes.ts";
import { call } from "../support/service.ts";
import { HISTORY, usedGpus } from "./page-tour.ts";
import { noBrowser, press, rowOf, site, titled } from "./site.ts";

const REFUSED = /status of 40[13]/;

/** Where nothing listens. */
const NOWHERE = "tcp://127.0.0.1:1";

const here = site({
	endpoints: () => ({ work: { launcher: { type: "docker", image: "w:1", hosts: "all" } } }),
	settings: {
		hosts: {
			rig1: {
				docker: NOWHERE,
				insecure: true,
				workerUrl: "http://127.0.0.1:9",
				labels: ["small"],
				gpus: [{ id: "GPU-0a", model: "NVIDIA L4", memoryGb: 24.2 }],
			},
		},
	},
});

const card = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

const HOST: Host = {
	name: "rig2",
	labels: [],
	address: "rig2:2376",
	state: "reachable",
	since: "2026-01-31T12:00:00.000Z",
	drained: false,
	workersMax: 4,
	gpus: [],
	workers: ["work-0123456789ab"],
	images: ["my-worker:1.0", "other:2"],
	freeDisk: 412_000_000_000,
	version: "28.2.2",
};

const WORKER = "work-0123456789ab";
const OTHER = "talk-0123456789ab";
const A100 = { host: "rig2", model: "NVIDIA A100", memoryGb: 85.9 };
const GPUS: Gpu[] = [
	{
		...A100,
		id: "GPU-1",
		freeGb: 25.4,
		holders: [
			{ state: "busy", worker: WORKER, endpoint: "work", memoryGb: 40, since: "2026-01-31T12:00:00.000Z" },
			{ state: "idle", worker: OTHER, endpoint: "talk", memoryGb: 20, since: "2026-01-31T12:00:00.000Z" },
		],
	},
	{ ...A100, id: "GPU-2", holders: [{ state: "other" }] },
	{ ...A100, id: "GPU-3", holders: [] },
	{ host: "local", id: "0", model: "NVIDIA L4", memoryGb: 24.2, memoryUsedGb: 11.7, busyPercent: 96, holders: [] },
	{ host: "local", id: "1", holders: [] },
];

/** The page as it is where these are the hosts. */
async function pageOf(hosts: readonly Host[], gpus: readonly Gpu[] = [], used: readonly Gpu[] = gpus): Promise<Page> {
	const page = await here.open();
	await page.route("**/v1/hosts", (route) => route.fulfill({ json: { hosts } }));
	await page.route("**/v1/gpus", (route) => route.fulfill({ json: { gpus } }));
	await page.route(HISTORY, (route) => route.fulfill({ json: { gpus: used } }));
	await page.getByRole("link", { name: T.pages.hosts }).click();
	return page;
}

describe.skipIf(noBrowser !== undefined)(titled("hosts in the console"), () => {
	it("D44: an unreachable host says why; it is drained and resumed after a question", async () => {
		await call(here.service.url, "/v2/work/run", { body: { input: {} } });
		const page = await here.open({ at: "#/hosts" });
		const rig = card(page, "rig1");
		await rig.getByText(T.states.unreachable).waitFor();
		await rig.getByText("no Docker daemon answers").waitFor();
		await rig.getByText("small", { exact: true }).waitFor();
		await rowOf(page, "NVIDIA L4").getByText("24.2 GB").waitFor();
		await rowOf(page, "NVIDIA L4").getByText(T.hosts.free).waitFor();
		await rig.getByRole("button", { name: `${T.hosts.drain} rig1` }).click();
		await page.getByText(T.hosts.drainText(0)).waitFor();
		await press(page, T.hosts.drain);
		await rig.getByText(T.hosts.drained, { exact: true }).waitFor();
		const [host] = (await call(here.service.url, "/v1/hosts")).json.hosts.slice(-1);
		expect(host).toMatchObject({ name: "rig1", drained: true });
		await rig.getByRole("button", { name: `${T.hosts.resume} rig1` }).click();
		await press(page, T.hosts.resume);
		await rig.getByText(T.hosts.drained, { exact: true }).waitFor({ state: "detached" });
	});

	it("D44: each GPU has its model, its memory and who holds it; images and workers are listed", async () => {
		const page = await pageOf([HOST], GPUS);
		const rig = card(page, "rig2");
		await rig.getByText("412 GB").waitFor();
		await rig.getByText("28.2.2").waitFor();
		await rig.getByText("1 of 4").waitFor();
		const rows = rig.locator("tbody tr");
		await rows.nth(0).getByRole("link", { name: "work-0123456789ab" }).waitFor();
		await rows.nth(0).getByText(T.states.running).waitFor();
		await rows.nth(0).getByText("40 GB", { exact: true }).waitFor();
		await rows.nth(0).getByRole("link", { name: OTHER }).waitFor();
		await rows.nth(0).getByText(T.hosts.left("25.4 GB")).waitFor();
		await rows.nth(1).getByText(T.hosts.otherService).waitFor();
		const here = card(page, T.hosts.here).locator("tbody tr");
		await here.nth(0).getByText("11.7 of 24.2 GB").waitFor();
		await here.nth(0).getByText(T.workers.busy(96)).waitFor();
		await here.nth(0).getByText(T.hosts.number("0")).waitFor();
		const [meter, cell] = await Promise.all(
			[here.nth(0).locator("meter"), here.nth(0).locator("td", { has: page.locator("meter") })].map(
				async (each) => (await each.boundingBox())!,
			),
		);
		expect(meter!.x + meter!.width).toBeLessThanOrEqual(cell!.x + cell!.width);
		await here.nth(1).getByText(T.hosts.number("1")).waitFor();
		await rows.nth(2).getByText(T.hosts.free).waitFor();
		await rig.locator("summary").click();
		await rig.getByText("other:2").waitFor();
		await rows.nth(0).getByRole("link", { name: WORKER }).click();
		await page.waitForURL(/#\/endpoints\/work\/workers\/work-0123456789ab$/);
	});

	it("D27: a lane of each GPU has who had it in the last hour, and shared ones in rows", async () => {
		const used = usedGpus(Date.now());
		const page = await pageOf([HOST], used, used);
		const lanes = card(page, T.hosts.lanes);
		await lanes.getByText(T.hosts.busyFor("20 min")).waitFor();
		const first = lanes.getByRole("img", { name: `${T.hosts.number("0")}: ` });
		expect(await first.getAttribute("aria-label")).toBe(
			"GPU 0: chat starting for 3 min, chat busy for 15 min, chat idle for 5 min, captions starting for 2 min, " +
				"captions busy for 5 min, captions idle for 28 min, talk starting for 10 min",
		);
		await lanes.getByRole("img", { name: `${T.hosts.number("1")}: ${T.hosts.free}` }).waitFor();
		const boxes = await Promise.all(
			(await first.locator(".lane-bar").all()).map(async (bar) => (await bar.boundingBox())!),
		);
		expect(boxes).toHaveLength(7);
		const [whole, last, shared] = [(await first.boundingBox())!, boxes.at(-1)!, boxes.at(-2)!];
		expect(last.width / whole.width).toBeCloseTo(10 / 60, 1);
		expect([last.height, last.y]).toEqual([shared.height, shared.y + shared.height]);
		for (const endpoint of ["chat", "captions", "talk"]) await lanes.getByText(endpoint, { exact: true }).waitFor();
		expect(new Set(boxes.map(({ y }) => y)).size).toBe(2);
	});

	it("D27: lanes of GPUs of hosts have the name of the host and the end of the id", async () => {
		const id = "GPU-7c0d1f0a-9f1b-2d7e-88aa-0123456789ab";
		const [gpu] = usedGpus(Date.now());
		const page = await pageOf([HOST], GPUS, [{ ...gpu!, host: "rig2", id }]);
		await card(page, T.hosts.lanes).getByRole("img", { name: "rig2 …6789ab: " }).waitFor();
	});

	it("D44: this machine's Docker does not say that GPUs which are listed above are unknown", async () => {
		const page = await pageOf([{ ...HOST, name: "local" }, HOST], GPUS);
		await card(page, "rig2").getByText(T.hosts.gpus, { exact: true }).waitFor();
		await card(page, "local").getByText(T.hosts.images, { exact: true }).waitFor();
		expect(await card(page, "local").getByText(T.hosts.gpus, { exact: true }).count()).toBe(0);
	});

	it("D27: while no worker has had a GPU, the card says so", async () => {
		const page = await pageOf([HOST], GPUS);
		await card(page, T.hosts.lanes).getByText(T.hosts.noSpans).waitFor();
	});

	it("D44: without other machines it shows the configuration that adds one", async () => {
		const { gpus: _gpus, workersMax: _max, ...local } = HOST;
		const page = await pageOf([{ ...local, name: "local", state: "unused", gpus: [], workers: [] }]);
		await page.getByText(T.hosts.none).waitFor();
		await page.getByText("docker: ssh://sluice@rig1").waitFor();
		await card(page, T.hosts.here).getByText(T.hosts.noGpusHere).waitFor();
	});

	it("D30: a key without the scope admin sees no hosts", async () => {
		const { key } = await here.key(["write"]);
		const page = await here.open({ key, at: "#/hosts", forgive: REFUSED });
		await page.getByText(T.hosts.mayNot).waitFor();
	});
});
