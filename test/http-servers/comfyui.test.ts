/** ComfyUI: a client that none of us wrote is the judge of the fake, and jobs have the pictures that it saw. */
import { Client, Workflow, type WorkflowInterruptedError } from "@stable-canvas/comfyui-client";
import { describe, expect, it, type TestContext } from "vitest";
import { until } from "../support/until.ts";
import { mappingOf } from "../support/worker-kit/mapping.ts";
import { sleepServer } from "../../packages/worker/src/http/server/sleep.ts";
import { systemClock } from "../../packages/worker/src/clock.ts";
import { type ComfyUi, startComfyUi } from "./fakes/comfyui.ts";
import { connectedSite, fakeOf, SLOW_MS } from "./servers.ts";

const PICTURE = Buffer.from("\x89PNG\r\n\x1a\n\0\xff", "latin1");

const fakeServer = (test: TestContext): Promise<ComfyUi> => fakeOf(test, startComfyUi());
const connected = (test: TestContext, fake: ComfyUi) =>
	connectedSite(test, { preset: "comfyui", ready: { everyMs: 20 }, async: { everyMs: 20 } }, fake);

/** Loads `in.png`, works on it, saves the result, and shows a preview. */
const graphOf = (sampler: object = {}): Workflow => {
	const graph = new Workflow();
	const [picture] = graph.node("LoadImage", { image: "in.png" });
	const [result] = graph.node("FakeSampler", { images: picture, steps: 3, ...sampler });
	graph.node("SaveImage", { images: result, filename_prefix: "birds/heron" });
	graph.node("PreviewImage", { images: result });
	return graph;
};
const promptOf = (sampler?: object): object => graphOf(sampler).workflow().prompt;

const images = [{ name: "in.png", image: PICTURE.toString("base64") }];

/** A client with its WebSocket open. */
async function judge({ onTestFinished }: TestContext, { port }: ComfyUi): Promise<Client> {
	const client = new Client({ api_host: `127.0.0.1:${port}`, clientId: "judge" });
	onTestFinished(() => client.close());
	await client.connect();
	return client;
}

async function upload(client: Client): Promise<unknown> {
	const body = new FormData();
	body.append("image", new Blob([PICTURE]), "in.png");
	return await (await client.fetchApi("/upload/image", { method: "POST", body })).json();
}

describe("ComfyUI", { timeout: 2 * SLOW_MS }, () => {
	it("is one for @stable-canvas/comfyui-client: upload, queue, progress, pictures, history", async (test) => {
		const fake = await fakeServer(test);
		const client = await judge(test, fake);
		expect((await client.getSystemStats()).devices[0]).toMatchObject({ type: "cuda" });
		expect(await upload(client)).toEqual({ name: "in.png", subfolder: "", type: "input" });
		const progress: number[] = [];
		const invoked = graphOf({ hold: true }).instance(client, {
			progress: ({ value, max }) => void progress.push(value / max),
		});
		await invoked.enqueue();
		const over = invoked.wait();
		expect(await invoked.query()).toEqual({ running: true, pending: false, done: false });
		fake.release();
		const { images: made } = await over;
		const addresses = made.map((image) => (image.type === "url" ? image.data : expect.fail(image.type)));
		expect(addresses.map((address) => new URL(address).search)).toEqual([
			"?filename=heron_00001_.png&subfolder=birds&type=output",
			"?filename=ComfyUI_temp_abcde_00001_.png&subfolder=&type=temp",
		]);
		for (const address of addresses) {
			const response = await fetch(address);
			expect(response.headers.get("content-type")).toBe("image/png");
			expect(Buffer.from(await response.arrayBuffer())).toEqual(PICTURE);
		}
		expect(progress.at(-1)).toBe(1);
		const { History: history } = await client.getHistory();
		expect(history).toMatchObject([
			{ prompt: [1, invoked.task_id, {}, { client_id: "judge" }, ["3", "4"]], status: { status_str: "success" } },
		]);
		// The client's other way, which asks the queue.
		const polled = await client.enqueue_polling(graphOf().workflow().prompt, { polling_ms: 10 });
		expect(polled.images.map(({ data }) => new URL(data as string).searchParams.get("filename"))).toEqual([
			"heron_00002_.png",
			"ComfyUI_temp_abcde_00002_.png",
		]);
	});

	it("refuses, fails, is interrupted and forgets as that client expects", async (test) => {
		const fake = await fakeServer(test);
		const client = await judge(test, fake);
		await expect(client.enqueue_polling(graphOf().workflow().prompt)).rejects.toMatchObject({
			status: 400,
			json: { error: { type: "prompt_outputs_failed_validation" }, node_errors: { 1: { class_type: "LoadImage" } } },
		});
		await upload(client);
		const started = async (sampler: object) => {
			const invoked = graphOf({ hold: true, ...sampler }).instance(client);
			await invoked.enqueue();
			const end = invoked.wait().then(
				() => expect.fail("no error"),
				(error: Error) => error,
			);
			return { invoked, end };
		};
		const failing = await started({ error: "out of memory" });
		fake.release();
		expect((await failing.end).message).toBe("Execution error: out of memory (RuntimeError)");
		await expect(client.getPromptOutputs(failing.invoked.task_id!)).rejects.toThrow(/error/);

		const endless = await started({});
		const waiting = await started({});
		expect(await waiting.invoked.query()).toEqual({ running: false, pending: true, done: false });
		await client.interrupt(waiting.invoked.task_id!);
		expect(fake.running(), "one that waits is not interrupted").toBe(endless.invoked.task_id);
		await client.deleteItem("queue", waiting.invoked.task_id);
		expect((await client.getQueue()).Pending).toEqual([]);
		await endless.invoked.interrupt();
		expect(((await endless.end) as WorkflowInterruptedError).invoked).toBe(endless.invoked);
		await until("the end of the prompt", () => fake.running() === undefined);
		await client.deleteItem("history", endless.invoked.task_id);
		expect((await client.getHistory()).History.map(({ prompt }) => prompt[1])).toEqual([failing.invoked.task_id]);
	});

	it("gives jobs the pictures that the client saw", async (test) => {
		const fake = await fakeServer(test);
		const { run } = await connected(test, fake);
		const job = await run({ workflow: promptOf(), images });
		expect(job).toMatchObject({ status: "COMPLETED" });
		const data = PICTURE.toString("base64");
		expect(job.output).toEqual({
			3: { images: [{ contentType: "image/png", bytes: PICTURE.length, name: "heron_00001_.png", data }] },
			4: { images: [{ filename: "ComfyUI_temp_abcde_00001_.png", subfolder: "", type: "temp" }] },
		});
		const client = await judge(test, fake);
		const [seen] = (await client.getHistory()).History;
		expect(seen!.outputs["3"]).toEqual({
			images: [{ filename: "heron_00001_.png", subfolder: "birds", type: "output" }],
		});
		// The same name again is another picture.
		const again = await run({ workflow: promptOf(), images: [{ name: "in.png", image: "QUJD" }] });
		expect(again.output[3].images).toMatchObject([{ name: "heron_00002_.png", data: "QUJD" }]);
	});

	it("fails jobs with its words", async (test) => {
		const fake = await fakeServer(test);
		const { run } = await connected(test, fake);
		const failed = await run({ workflow: promptOf({ error: "out of memory" }), images });
		expect([failed.status, JSON.parse(failed.error).at(-1)]).toEqual([
			"FAILED",
			[
				"execution_error",
				expect.objectContaining({ node_id: "2", node_type: "FakeSampler", exception_message: "out of memory" }),
			],
		]);
		const refused = await run({ workflow: { 1: { class_type: "SaveVideo", inputs: {} } } });
		expect([refused.status, refused.error]).toEqual([
			"FAILED",
			expect.stringMatching(/^HTTP 400: [^]*"Cannot execute because node SaveVideo does not exist\."/),
		]);
	});

	it("stops the prompt of a job that is cancelled, and goes on", async (test) => {
		const fake = await fakeServer(test);
		const { run, submit, cancel, over } = await connected(test, fake);
		const id = await submit({ workflow: promptOf({ hold: true }), images });
		const prompt = await until("the prompt", () => fake.running());
		await cancel(id);
		await until("the end of the prompt", () => fake.running() === undefined, 5000);
		expect(await over(id)).toMatchObject({ status: "CANCELLED" });
		const client = await judge(test, fake);
		const { History: history } = await client.getHistory();
		expect(history.map(({ prompt: [, each], status }) => [each, status!.messages.at(-1)![0]])).toEqual([
			[prompt, "execution_interrupted"],
		]);
		expect(await run({ workflow: promptOf(), images })).toMatchObject({ status: "COMPLETED" });
	});

	it("sleeps by freeing its memory", async (test) => {
		const fake = await fakeServer(test);
		const files = { readPort: () => undefined, writePort() {}, isAsleep: () => true, setAsleep() {}, remove() {} };
		const mapping = mappingOf({ preset: "comfyui", port: fake.port });
		await sleepServer({ mapping, env: {}, files, clock: systemClock, randomId: () => "b" });
		const asked = fake.received.map(({ method, url }) => `${method} ${url}`);
		expect(asked).toEqual(["POST /free", "GET /system_stats", "GET /system_stats"]);
	});
});
