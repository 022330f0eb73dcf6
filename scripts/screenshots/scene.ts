/**
 * What the pictures of the console show: the example endpoints with real jobs, keys and webhooks.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What the pages are opened with. */
export interface Scene {
	/** A job whose output is pictures. */
	pictures: string;
	/** Another job of that endpoint. */
	other: string;
	/** A worker with a log. */
	worker: string;
	/** What is asked in a chat. */
	question: string;
}

const QUESTION = "Describe the harbour in the morning.";

const HARBOUR = {
	openai_route: "/v1/chat/completions",
	openai_input: {
		model: "harbour-1",
		stream: true,
		seed: 5,
		max_tokens: 90,
		messages: [{ role: "user", content: QUESTION }],
	},
};

/** Plays it against the service. Resolves when what is shown is there. */
export async function play({ url, key }: { url: string; key: string }): Promise<Scene> {
	const call = async (method: "GET" | "POST", path: string, body?: unknown, as = key): Promise<any> => {
		const answer = await fetch(url + path, {
			method,
			headers: { authorization: `Bearer ${as}` },
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		});
		const text = await answer.text();
		if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${text}`);
		return JSON.parse(text);
	};
	const picture = (name: string): string =>
		readFileSync(new URL(`../../examples/pictures/${name}`, import.meta.url)).toString("base64");

	const receiver = createServer((req, res) =>
		req.resume().on("end", () => res.writeHead(req.url === "/down" ? 503 : 200).end()),
	);
	await once(receiver.listen(0, "127.0.0.1"), "listening");
	receiver.unref();
	const hooks = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

	const shop = await call("POST", "/v1/keys", {
		name: "Web shop",
		scopes: ["write"],
		endpoints: ["thumbnail", "ocr"],
	});
	await call("POST", "/v1/keys", { name: "Dashboard", scopes: ["read"] });
	await call("POST", "/v1/keys", { name: "Nightly batch", scopes: ["write"] });
	await call("POST", "/v1/keys", { name: "Operator", scopes: ["admin"] });

	const run = async (endpoint: string, input: object, rest: object = {}): Promise<string> =>
		(await call("POST", `/v2/${endpoint}/run`, { input, ...rest }, endpoint === "openai" ? key : shop.key)).id;
	const jobs: [string, string][] = [];
	for (const [index, name] of [
		"landscape.jpg",
		"receipt.jpg",
		"landscape.jpg",
		"page.png",
		"receipt.jpg",
		"landscape.jpg",
		"page.png",
	].entries()) {
		jobs.push([
			"thumbnail",
			await run(
				"thumbnail",
				{ image: picture(name), sizes: [64, 160, 320].slice(0, 1 + (index % 3)) },
				index % 3 === 0 ? { webhook: `${hooks}/thumbnails` } : {},
			),
		]);
	}
	jobs.push([
		"thumbnail",
		await run("thumbnail", { image: "this is no picture", sizes: [64] }, { webhook: `${hooks}/down` }),
	]);
	jobs.push(
		["ocr", await run("ocr", { image: picture("receipt.jpg") }, { webhook: `${hooks}/receipts` })],
		["ocr", await run("ocr", { image: picture("page.png") })],
	);
	for (const seed of [1, 2, 3])
		jobs.push(["openai", await run("openai", { ...HARBOUR, openai_input: { ...HARBOUR.openai_input, seed } })]);
	for (const [endpoint, id] of jobs)
		while (!/COMPLETED|FAILED/.test((await call("GET", `/v2/${endpoint}/status/${id}`)).status)) await sleep(100);

	const pictures = await run(
		"thumbnail",
		{ image: picture("landscape.jpg"), sizes: [64, 160, 320], format: "webp" },
		{ webhook: `${hooks}/thumbnails` },
	);
	while ((await call("GET", `/v2/thumbnail/status/${pictures}`)).status !== "COMPLETED") await sleep(100);
	await call("POST", "/v1/endpoints/ocr/pause");
	for (let left = 0; left < 7; left += 1) await run("ocr", { image: picture("receipt.jpg") });
	const { workers } = await call("GET", "/v1/endpoints/thumbnail/workers");
	return { pictures, other: jobs[0]![1], worker: workers[0].id, question: QUESTION };
}
