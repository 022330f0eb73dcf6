/**
 * Hostile requests next to held polls: how many get no answer within 8 s. Each connection sends a valid
 * request, then one with both `Transfer-Encoding: chunked` and `Content-Length: 0`, or another that
 * HTTP forbids. Prints JSON. `node bench/attacks/malformed.ts [requests]`.
 */
import { connect } from "node:net";
import { KEY, workerEnv } from "../processes.ts";
import { attacked, counts, print } from "./parts/attacked.ts";

const [requests = "3000"] = process.argv.slice(2);
const [POLLS, AT_ONCE, PATIENCE_MS] = [300, 30, 8000];
const FORMS: Record<string, string> = {
	"chunked and length 0": "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
	"two lengths": "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
	"bad chunk": "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	"bad header": "X y: 1\r\n\r\n",
	"chunked, empty": "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"no body": "Content-Length: 0\r\n\r\n",
};
const PATHS = ["/v2/none/purge-queue", "/worker/none/job-done/a/b", "/v2/noop/run", "/v1/keys", "/console/session"];

/** `answered`, `closed` without an answer to the second request, or `silent`. `key`: empty or valid. */
function hostile(port: number, path: string, form: string, key: string): Promise<string> {
	return new Promise((resolve) => {
		const socket = connect({ port, host: "127.0.0.1" });
		let text = "";
		const over = (what: string) => (): void => {
			clearTimeout(timer);
			socket.destroy();
			resolve(what);
		};
		const timer = setTimeout(over("silent"), PATIENCE_MS);
		const answers = (): number => text.split("HTTP/1.1 ").length - 1;
		socket.setEncoding("utf8").on("data", (part: string) => {
			const before = answers();
			text += part;
			if (answers() >= 2) over("answered")();
			else if (before === 0 && answers() === 1)
				socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${key}\r\n${form}`);
		});
		socket.on("error", () => {});
		socket.once("close", () => over(answers() >= 2 ? "answered" : "closed")());
		socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
	});
}

const figures = await attacked({ endpoint: { workersMax: POLLS } }, async ({ url, call }) => {
	const polls = [];
	for (let count = 0; count < POLLS; count += 1) {
		const env = await workerEnv(url);
		const path = `/worker/noop/job-take/${env["RUNPOD_POD_ID"]}?job_in_progress=0`;
		polls.push(call(path, { key: env["RUNPOD_AI_API_KEY"]!, timeoutMs: 600_000 }));
	}
	const port = Number(new URL(url).port);
	const forms = Object.entries(FORMS);
	const found: Record<string, string[]> = {};
	let next = 0;
	const attacker = async (): Promise<void> => {
		while (next < Number(requests)) {
			const number = next++;
			const [name, form] = forms[number % forms.length]!;
			const path = PATHS[Math.floor(number / forms.length) % PATHS.length]!;
			(found[name] ??= []).push(await hostile(port, path, form, Math.floor(number / 30) % 2 === 0 ? KEY : ""));
		}
	};
	await Promise.all(Array.from({ length: AT_ONCE }, attacker));
	return {
		requests: Number(requests),
		polls: polls.length,
		...Object.fromEntries(Object.entries(found).map(([name, ends]) => [name, counts(ends)])),
	};
});
print("malformed", figures);
// The polls are held on.
process.exit();
