/**
 * Makes a stored database of a version for `earlier-versions.test.ts`: starts its service as a
 * process, gives it jobs in every state, keys, endpoints and webhooks, and ends it with SIGKILL.
 *
 *   node test/store/earlier/make.ts sqlite|postgres [FOLDER COMMIT]
 *
 * FOLDER has the files of that version with its packages (default: this checkout). With `postgres`,
 * SLUICE_STORE is an empty database, and `pg_dump` must be on the PATH.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { sdkProtocol } from "../../support/sdk-protocol.ts";
import { type Dialect, type Facts, KEY, SECRET } from "./facts.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const [dialect, version = fileURLToPath(new URL("../../..", import.meta.url)), commit = head()] = process.argv.slice(
	2,
) as [Dialect, string?, string?];
const number = readdirSync(join(version, `src/kernel/store/${dialect}/migrations`)).length;
const place = mkdtempSync(join(tmpdir(), "sluice-earlier-"));
const database = join(place, "sluice.db");
const store = dialect === "sqlite" ? `sqlite:${database}` : process.env["SLUICE_STORE"]!;

const service = await started();
const facts = await furnish(service.url);
service.child.kill("SIGKILL");
await once(service.child, "exit");
const name = join(HERE, `${dialect}-${String(number).padStart(4, "0")}`);
writeFileSync(`${name}.json`, `${JSON.stringify(facts, undefined, "\t")}\n`);
if (dialect === "sqlite") {
	const db = new DatabaseSync(database);
	db.exec("PRAGMA wal_checkpoint(TRUNCATE); VACUUM");
	db.close();
	// With its payload files, if it has any.
	const files = readdirSync(place).filter((each) => /^sluice\.db(?:\.payloads)?$/.test(each));
	execFileSync("tar", ["-czf", `${name}.tar.gz`, "-C", place, ...files]);
} else {
	const flags = ["--inserts", "--no-owner", "--no-privileges", store];
	const dump = execFileSync("pg_dump", flags, { encoding: "utf8", maxBuffer: 2 ** 30 });
	// For psql only.
	const statements = dump.replace(/^\\.*$/gm, "");
	writeFileSync(`${name}.sql.gz`, gzipSync(statements, { level: 9 }));
}
rmSync(place, { recursive: true });
process.stdout.write(`${name}\n`);

function head(): string {
	return execFileSync("git", ["log", "-1", "--format=%h"], { encoding: "utf8" }).trim();
}

async function started(): Promise<{ url: string; child: ReturnType<typeof spawn> }> {
	const endpoints = { ep: { name: "From a file", launcher: { type: "external" } } };
	writeFileSync(join(place, "sluice.yaml"), JSON.stringify({ endpoints }));
	const flags = ["--config", "sluice.yaml", "--port", "0"];
	if (dialect === "postgres") flags.push("--data-dir", place);
	const child = spawn(process.execPath, [join(version, "src/main.ts"), "serve", ...flags], {
		cwd: place,
		env: { ...process.env, SLUICE_API_KEY: KEY, SLUICE_SECRET: SECRET, SLUICE_STORE: store },
		stdio: ["ignore", "pipe", "inherit"],
	});
	for await (const line of createInterface({ input: child.stdout })) {
		const [url] = /https?:\/\/[^\s/]+/.exec(line) ?? [];
		if (url !== undefined) return { url, child };
	}
	throw new Error("The service did not start.");
}

async function furnish(url: string): Promise<Facts> {
	async function call(path: string, body?: object, method = "POST", headers = {}): Promise<any> {
		const answer = await fetch(url + path, {
			method,
			headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json", ...headers },
			...(body && { body: JSON.stringify(body) }),
		});
		if (!answer.ok) process.stderr.write(`${path}: ${answer.status} ${await answer.text()}\n`);
		return answer.ok ? await answer.json() : {};
	}
	const run = async (input: object, more = {}, headers = {}): Promise<string> =>
		(await call("/v2/ep/run", { input, ...more }, "POST", headers)).id as string;
	const policy = { ttl: 604_800_000 };
	const s3Config = {
		accessId: "a",
		accessSecret: "sealed s3",
		bucketName: "b",
		endpointUrl: "https://s3.invalid",
	};
	const { env } = await call(`/v1/endpoints/ep/worker-env?url=${encodeURIComponent(url)}`, {});
	const worker = sdkProtocol(env as Record<string, string>);
	async function taken(id: string): Promise<string> {
		const answer = await worker.take();
		if (!answer.text.includes(id)) throw new Error(`${id} was not taken: ${answer.text}`);
		return id;
	}
	const completed = await taken(await run({ n: 1, text: "é😀" }));
	await worker.done(completed, '{"output":{"big":18446744073709551615,"text":"é😀"}}');
	const large = await taken(await run({ text: "y".repeat(150_000) }));
	await worker.done(large, { output: "x".repeat(200_000) });
	const failed = await taken(await run({ n: 3 }));
	await worker.done(failed, { error: "it broke" });
	const streamed = await taken(await run({ n: 4 }));
	for (const output of ["one", "two"]) await worker.chunk(streamed, { output });
	await worker.done(streamed, { output: [] });
	const webhook = "https://receiver.invalid/hook";
	const hooked = await taken(await run({ n: 5 }, { webhook, s3Config }));
	await worker.done(hooked, { output: { ok: true } });
	const running = await taken(await run({ n: 6 }));
	await worker.chunk(running, { output: "part" });
	const cancelled = await run({ n: 7 });
	await call(`/v2/ep/cancel/${cancelled}`, {});
	const low = await run({ n: 8 }, { policy: { ...policy, lowPriority: true } });
	const waiting = await run({ n: 9 }, { policy, s3Config });
	const repeated = await run({ n: 10 }, { policy }, { "idempotency-key": "once" });
	worker.close();
	const { key } = await call("/v1/keys", { name: "batch", scopes: ["read"], endpoints: ["ep"] });
	const launcher = { type: "external" };
	await call("/v1/endpoints", {
		id: "made",
		launcher,
		env: { TOKEN: "sealed env" },
		workersMax: 4,
	});
	const secret = await call("/v1/endpoints/ep/webhook-secret", {});
	const { deliveries } = await call("/v1/webhooks", undefined, "GET");
	const { jobs: counts } = await call("/v2/ep/health", undefined, "GET");
	return {
		version: commit,
		at: Date.now(),
		key,
		webhookSecret: secret.secret ?? secret.webhookSecret,
		worker: env,
		deliveries: deliveries.map(({ id }: { id: string }) => id),
		counts,
		jobs: {
			completed,
			large,
			failed,
			streamed,
			hooked,
			running,
			cancelled,
			low,
			waiting,
			repeated,
		},
	};
}
