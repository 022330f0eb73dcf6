/**
 * Jobs in the console, in a real browser: sent, watched, cancelled, retried, filtered; and what
 * comes from outside stays text.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { T } from "../../console/src/text/text.ts";
import { MOST_READ } from "../../src/kernel/core/jobs/job-search.ts";
import { call } from "../support/service.ts";
import { goTo, noBrowser, press, rowOf, site, tail, titled } from "./site.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const here = site({
	endpoints: (place) => ({
		work: place.stage(),
		crowd: { name: "Crowd" },
		busy: place.stage(),
		slow: { launcher: { type: "process", command: ["sleep", "300"] }, stopGraceMs: 0 },
		thumbnail: {
			workersMax: 1,
			launcher: {
				type: "process",
				command: [process.execPath, `${ROOT}examples/thumbnail/worker.js`],
			},
		},
	}),
});

/** The state at the head of a job's page. */
const stateOf = (page: Page, state: keyof typeof T.states): Locator =>
	page.locator(".job-head .status", { hasText: T.states[state] });

describe.skipIf(noBrowser !== undefined)(titled("jobs in the console"), () => {
	it("a job is tried, its stream comes piece by piece while it runs, and its input is remembered", async () => {
		const page = await here.open({ at: "#/endpoints/work/try" });
		const input = JSON.stringify({
			chunks: ["Down by ", "the harbour", { until: "third" }, " wall"],
		});
		await page.getByLabel(T.try.input).fill(input);
		await page.keyboard.press("Control+Enter");
		const result = page.getByRole("region", { name: T.try.result });
		await result.getByText("Down by the harbour", { exact: true }).waitFor();
		await result.locator(".status", { hasText: T.states.IN_PROGRESS }).waitFor();
		here.allow("third");
		await result.getByText("Down by the harbour wall", { exact: true }).first().waitFor();
		await result.locator(".status", { hasText: T.states.COMPLETED }).waitFor();
		await result.getByText(T.stream.over(3)).waitFor();
		await page.reload();
		expect(await page.getByLabel(T.try.input).inputValue()).toBe(input);
		await page.getByText(T.try.past(1)).waitFor();
	});

	it("input that is no JSON is refused before it is sent, a policy out of bounds by the service", async () => {
		const page = await here.open({ at: "#/endpoints/crowd/try", forgive: /status of 400/ });
		await page.getByLabel(T.try.input).fill("{");
		await press(page, T.try.send);
		await page.getByText(/^The input is not JSON: /).waitFor();
		await page.getByLabel(T.try.input).fill("{}");
		await press(page, T.try.options);
		await page.getByLabel(T.job.ttl).fill("12");
		await press(page, T.try.send);
		await page.getByRole("alert").getByText("policy.ttl", { exact: true }).waitFor();
	});

	it("a running job is cancelled, and its worker really stops", async () => {
		const id = await here.submit("work", { until: "never" });
		const page = await here.open({ at: `#/endpoints/work/requests/${id}` });
		await stateOf(page, "IN_PROGRESS").waitFor();
		await press(page, T.job.cancel);
		await page.getByRole("dialog").getByText(T.job.cancelRunning).waitFor();
		await page.getByRole("dialog").getByRole("button", { name: T.job.cancel }).click();
		await stateOf(page, "CANCELLED").waitFor();
		expect(await page.getByRole("button", { name: T.job.cancel }).count()).toBe(0);
		expect((await call(here.service.url, `/v2/work/status/${id}`)).json.status).toBe("CANCELLED");
	});

	it("a failed job shows why, and is retried under its id", async () => {
		const id = await here.ended("work", { fail: "no such harbour" });
		const page = await here.open({ at: `#/endpoints/work/requests/${id}` });
		await stateOf(page, "FAILED").waitFor();
		await page.getByText("no such harbour").first().waitFor();
		here.allow("mended");
		await press(page, T.job.retry);
		await stateOf(page, "COMPLETED").waitFor();
		expect(new URL(page.url()).hash).toContain(id);
	});

	it("D29: a job whose worker starts says since when", async () => {
		const id = await here.submit("slow", {});
		const page = await here.open({ at: `#/endpoints/slow/requests/${id}` });
		await page.locator(".reason", { hasText: "is starting" }).locator("time").waitFor();
	});

	it("a waiting job says why it waits; edited and resent it is a new one", async () => {
		const id = await here.submit("crowd", { output: 41 });
		const page = await here.open({ at: `#/endpoints/crowd/requests/${id}` });
		await page.getByText(T.job.waits).waitFor();
		await page.getByRole("link", { name: T.job.again }).click();
		const input = page.getByLabel(T.try.input);
		await expect.poll(() => input.inputValue()).toContain('"output": 41');
		await input.fill('{"output": 42}');
		await press(page, T.try.send);
		await page.getByRole("region", { name: T.try.result }).locator(".status", { hasText: T.states.IN_QUEUE }).waitFor();
	});

	it("requests are filtered by state, worker and id, by what stands in the address", async () => {
		const [good, waits] = [await here.ended("work", { output: 1 }), await here.submit("crowd", {})];
		const page = await here.open({ at: "#/endpoints/work/requests" });
		await rowOf(page, tail(good)).waitFor();
		const tabs = page.getByRole("navigation", { name: T.requests.states });
		await tabs.getByRole("link", { name: T.states.IN_QUEUE }).click();
		await page.getByText(T.requests.noMatch).waitFor();
		await tabs.getByRole("link", { name: T.states.COMPLETED }).click();
		await rowOf(page, tail(good)).waitFor();
		expect(new URL(page.url()).hash).toBe("#/endpoints/work/requests?status=COMPLETED");
		await goTo(page, "#/endpoints/work/requests?status=COMPLETED%2CFAILED");
		await expect.poll(() => tabs.locator("[aria-current]").count()).toBe(2);
		await rowOf(page, tail(good)).waitFor();
		await goTo(page, "#/endpoints/work/requests?worker=none");
		await page.getByText(T.requests.noMatch).waitFor();
		await page.getByText(T.requests.ofWorker("none")).waitFor();
		await page.reload();
		await page.getByText(T.requests.noMatch).waitFor();
		await press(page, T.requests.clear);
		await rowOf(page, tail(good)).waitFor();
		// A whole id leads to its job.
		await page.getByLabel(T.requests.search).fill(good);
		await page.keyboard.press("Enter");
		await stateOf(page, "COMPLETED").waitFor();
		// Live: what is submitted meanwhile arrives without a reload.
		await goTo(page, "#/endpoints/crowd/requests");
		await rowOf(page, tail(waits)).waitFor();
		await rowOf(page, tail(await here.submit("crowd", {}))).waitFor();
	});

	it("older jobs come page by page, and the way back leads to the newest", async () => {
		const first = await here.submit("crowd", {});
		await Promise.all(Array.from({ length: 50 }, () => here.submit("crowd", {})));
		const last = await here.submit("crowd", {});
		const page = await here.open({ at: "#/endpoints/crowd/requests" });
		await expect.poll(() => page.locator("tbody tr").count()).toBe(50);
		await press(page, T.requests.older);
		await rowOf(page, tail(first)).waitFor();
		await press(page, T.requests.newest);
		await rowOf(page, tail(last)).waitFor();
	});

	it("one job of a filter is found behind more jobs than one page reads", async () => {
		const old = await here.ended("busy", {});
		const worker = (await call(here.service.url, `/v1/endpoints/busy/jobs/${old}`)).json.workerId as string;
		await call(here.service.url, "/v1/endpoints/busy/pause", { method: "POST" });
		const { engine } = here.service;
		const endpoint = engine.endpoints.get("busy");
		await Promise.all(
			Array.from({ length: MOST_READ + 10 }, () =>
				engine.jobs.submit({
					id: randomUUID(),
					endpoint,
					operation: "run",
					options: { lowPriority: false, s3Config: false },
					input: "{}",
				}),
			),
		);
		const path = `/v1/endpoints/busy/jobs?worker=${worker}`;
		expect((await call(here.service.url, path)).json).toMatchObject({
			jobs: [],
			next: expect.any(String),
		});
		const page = await here.open({ at: `#/endpoints/busy/requests?worker=${worker}` });
		await rowOf(page, tail(old)).waitFor();
	});

	it("D39: bulk cancelling shows its count first, and leaves what does not match", async () => {
		const running = await here.submit("work", { until: "end" });
		const page = await here.open({ at: "#/endpoints/crowd/requests?status=IN_QUEUE" });
		const { inQueue } = (await call(here.service.url, "/v2/crowd/health")).json.jobs;
		expect(inQueue).toBeGreaterThan(50);
		await press(page, T.bulk.cancel.openOf(String(inQueue)));
		await page
			.getByRole("dialog")
			.getByText(T.bulk.cancel.ask(String(inQueue)))
			.waitFor();
		await press(page, T.dismissCancel);
		expect((await call(here.service.url, "/v2/crowd/health")).json.jobs.inQueue).toBe(inQueue);
		await press(page, T.bulk.cancel.openOf(String(inQueue)));
		await press(page, T.bulk.cancel.act(String(inQueue)));
		await page
			.getByRole("dialog")
			.getByText(T.bulk.cancel.done(String(inQueue)))
			.waitFor();
		await press(page, T.close);
		await page.getByText(T.requests.noMatch).waitFor();
		expect((await call(here.service.url, "/v2/crowd/health")).json.jobs.inQueue).toBe(0);
		expect((await call(here.service.url, `/v2/work/status/${running}`)).json.status).not.toBe("CANCELLED");
		here.allow("end");
	});

	it("bulk retrying queues all failed ones again", async () => {
		await call(here.service.url, "/v1/endpoints/crowd/pause", { method: "POST" });
		const env = (
			await call(here.service.url, `/v1/endpoints/crowd/worker-env?url=${encodeURIComponent(here.service.url)}`, {
				method: "POST",
			})
		).json.env as Record<string, string>;
		for (let left = 0; left < 3; left += 1) await here.submit("crowd", {}, { policy: { executionTimeout: 6000 } });
		await call(here.service.url, "/v1/endpoints/crowd/resume", { method: "POST" });
		for (let left = 0; left < 3; left += 1) {
			const headers = { authorization: env["RUNPOD_AI_API_KEY"]! };
			const taken = await call(
				env["RUNPOD_WEBHOOK_GET_JOB"]!.replace("$ID", env["RUNPOD_POD_ID"]!),
				"&job_in_progress=0",
				{ headers, key: null },
			);
			await call(
				env["RUNPOD_WEBHOOK_POST_OUTPUT"]!.replace("$RUNPOD_POD_ID", env["RUNPOD_POD_ID"]!).replace(
					"$ID",
					taken.json.id,
				),
				"",
				{ headers, key: null, body: { error: "broken" } },
			);
		}
		const page = await here.open({ at: "#/endpoints/crowd/requests?status=FAILED" });
		await expect.poll(() => page.locator("tbody tr").count()).toBe(3);
		await press(page, T.bulk.retry.openOf("3"));
		await press(page, T.bulk.retry.act("3"));
		await page.getByRole("dialog").getByText(T.bulk.retry.done("3")).waitFor();
		expect((await call(here.service.url, "/v2/crowd/health")).json.jobs.inQueue).toBe(3);
	});

	it("D5: numbers are shown as they were sent, and what a large value holds is found by searching", async () => {
		const list = Array.from({ length: 300 }, (_, index) => ({ index, name: `item ${index}` }));
		const { json } = await call(here.service.url, "/v2/crowd/run", {
			text: `{"input":{"big":12345678901234567890,"point":1.0,"list":${JSON.stringify(list)}}}`,
		});
		const page = await here.open({ at: `#/endpoints/crowd/requests/${json.id}` });
		await page.getByText("12345678901234567890", { exact: true }).waitFor();
		await page.getByText("1.0", { exact: true }).waitFor();
		expect(await page.getByText("item 299").count()).toBe(0);
		await page.getByLabel(T.json.search(T.job.input)).fill("item 299");
		await page.getByText(T.json.hits("1"), { exact: true }).waitFor();
		await page.locator("mark", { hasText: "item 299" }).waitFor();
		await page.getByRole("button", { name: T.copy }).last().click();
		expect(await page.evaluate("navigator.clipboard.readText()")).toContain("12345678901234567890");
	});

	it("an output that is HTML, a script or an address of a script stays text wherever it is shown", async () => {
		const evil =
			`<script>globalThis.harmed = 1</script><img src=x onerror="globalThis.harmed = 1"><iframe ` +
			`srcdoc="<script>parent.harmed = 1</script>">`;
		const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="globalThis.harmed=1">' + `${" ".repeat(80)}</svg>`;
		const output = {
			[evil]: evil,
			link: "javascript:globalThis.harmed=1",
			svg: `data:image/svg+xml;base64,${btoa(svg)}`,
			html: `data:text/html;base64,${btoa(evil)}`,
		};
		const shown = await here.ended("work", { log: evil, output });
		const streamed = await here.ended("work", { log: evil, chunks: [evil, { [evil]: evil }] });
		const waiting = await here.submit("crowd", { output });
		const page = await here.open();
		for (const [endpoint, id] of [
			["work", shown],
			["work", streamed],
			["crowd", waiting],
		] as const) {
			await goTo(page, `#/endpoints/${endpoint}/requests/${id}`);
			await page.locator(".job-id", { hasText: id }).waitFor();
			await page.getByText("globalThis.harmed = 1").first().waitFor();
			const stream = page.locator("summary", { hasText: T.job.stream });
			if ((await stream.count()) > 0) await stream.click();
			if (endpoint === "work") await page.getByRole("log").getByText("globalThis.harmed = 1").waitFor();
			expect(
				await page.evaluate(
					"[globalThis.harmed, document.querySelectorAll('main script, main iframe, main " +
						'img, main [onerror], main a[href^="javascript:"], main a[href^="data:"]\').length]',
				),
			).toEqual([undefined, 0]);
		}
	});

	it("an id in the address that is hostile stays text, and leads nowhere", async () => {
		const evil = `"><img src=x onerror="globalThis.harmed=1">/../../../keys?x=<script>globalThis.harmed=1</script>`;
		const page = await here.open({ forgive: /status of 404/ });
		const asked: string[] = [];
		page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
		for (const hash of [
			`#/endpoints/work/requests/${encodeURIComponent(evil)}`,
			`#/endpoints/${encodeURIComponent(evil)}`,
			`#/endpoints/work/workers/${encodeURIComponent(evil)}`,
			`#/endpoints/work/try?like=${encodeURIComponent(evil)}`,
			"#/endpoints/..%2f..%2fkeys",
		]) {
			await goTo(page, hash);
			await page
				.getByText(/not_found|worker_not_found/)
				.or(page.getByText(T.log.none))
				.first()
				.waitFor();
			await page.reload();
			await page.getByText(T.live, { exact: true }).waitFor();
			expect(
				await page.evaluate("[globalThis.harmed, document.querySelectorAll('img, script:not([src])').length]"),
				hash,
			).toEqual([undefined, 0]);
		}
		expect(asked.filter((path) => path === "/v1/keys")).toEqual([]);
	});

	it("pictures in an output are shown as pictures, and an attached file is sent as base64", async () => {
		const page = await here.open({ at: "#/endpoints/thumbnail/try" });
		await page.getByLabel(T.try.input).fill('{"sizes": [64, 160], "image": }');
		// The file is named where the cursor stands.
		await page.keyboard.press("ArrowLeft");
		await page.locator("input[type=file]").setInputFiles({
			name: "landscape.jpg",
			mimeType: "image/jpeg",
			buffer: readFileSync(`${ROOT}examples/pictures/landscape.jpg`),
		});
		await press(page, T.try.send);
		const result = page.getByRole("region", { name: T.try.result });
		await result.locator(".status", { hasText: T.states.COMPLETED }).waitFor();
		await expect
			.poll(() =>
				result
					.locator(".stream img")
					.evaluateAll((all) => all.map((each) => (each as unknown as { naturalWidth: number }).naturalWidth)),
			)
			.toEqual([64, 160]);
	});

	it("the log of a worker follows what it writes, and of a job shows its lines alone", async () => {
		const first = await here.ended("work", { log: "the first line" });
		const worker = (await call(here.service.url, `/v1/endpoints/work/jobs/${first}`)).json.workerId as string;
		const page = await here.open({ at: `#/endpoints/work/workers/${worker}` });
		const log = page.getByRole("log");
		await log.getByText("the first line").waitFor();
		const second = await here.ended("work", { log: "and then the second" });
		await log.getByText("and then the second").waitFor();
		await page.getByLabel(T.log.search).fill("second");
		await log.getByText("the first line").waitFor({ state: "detached" });
		await goTo(page, `#/endpoints/work/requests/${second}`);
		await log.getByText("and then the second").waitFor();
		expect(await log.getByText("the first line").count()).toBe(0);
	});
});
