/** The built-in TLS: certificates are made here with openssl (D34). */
import { MODULES } from "../../src/modules/index.ts";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { expect, it, type TestContext } from "vitest";
import { readCertificate } from "../../src/kernel/system/certificate.ts";
import { certificateFinding } from "../../src/cli/doctor/machine.ts";
import { manualClock } from "../support/manual-clock.ts";
import { startApp } from "../../src/kernel/compose.ts";
import { loadConfig } from "../../src/kernel/config/config.ts";
import { eventBus } from "../../src/kernel/events.ts";
import { folder, KEY, nextEvent, spawnService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { sluice } from "./command.ts";

/** A certificate of its own authority for localhost and 127.0.0.1. */
function certificate(path: string, name: string): { cert: string; key: string } {
	const [cert, key] = [join(path, `${name}.crt`), join(path, `${name}.key`)];
	execFileSync(
		"openssl",
		[
			...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
			...["-days", "30", "-subj", `/CN=${name}`, "-keyout", key, "-out", cert],
			...["-addext", "subjectAltName=DNS:localhost,DNS:sluice.test,IP:127.0.0.1"],
		],
		{ stdio: "ignore" },
	);
	return { cert, key };
}

function place(test: TestContext): string {
	const at = folder();
	test.onTestFinished(at.remove);
	return at.path;
}

async function start(test: TestContext, path: string, files: { cert: string; key: string }) {
	const loaded = loadConfig({
		modules: MODULES,
		flags: { port: "0", store: `sqlite:${join(path, "s.db")}`, "drain-timeout": "0" },
		env: { SLUICE_API_KEY: KEY, SLUICE_TLS_CERT: files.cert, SLUICE_TLS_KEY: files.key },
		cwd: path,
		readFile: () => undefined,
	});
	if (!loaded.ok) throw new Error(loaded.problems.join("\n"));
	const [events, clock] = [eventBus(), manualClock(Date.now())];
	const app = await startApp(loaded.config, { modules: MODULES, clock, events, env: {} });
	test.onTestFinished(async () => {
		let ended = false;
		const end = app.stop().finally(() => (ended = true));
		while (!ended) await clock.advance(1000);
		await end;
	});
	return { ...app, clock, events };
}

/** A request that accepts only certificates of `ca`. */
function ask(url: string, q: { ca: string; path?: string; headers?: Record<string, string> }) {
	return new Promise<{
		status: number | undefined;
		headers: Record<string, unknown>;
		name: string;
	}>((resolve, reject) => {
		const { ca, path = "/healthz", headers = {} } = q;
		const call = request(url + path, { ca, headers, agent: false }, (answer) => {
			const { subject } = (answer.socket as TLSSocket).getPeerCertificate();
			answer.resume();
			resolve({ status: answer.statusCode, headers: answer.headers, name: String(subject.CN) });
		});
		call.on("error", reject);
		call.end();
	});
}

it("D34: serves https only, from TLS 1.2 on, and asks browsers to stay with it", async (test) => {
	const path = place(test);
	const files = certificate(path, "one");
	const { url } = await start(test, path, files);
	expect(url).toMatch(/^https:\/\/127\.0\.0\.1:/);
	const ca = readFileSync(files.cert, "utf8");
	expect(await ask(url, { ca })).toMatchObject({
		status: 200,
		headers: { "strict-transport-security": expect.stringMatching(/^max-age=/) },
	});
	const local = await ask(url, { ca, headers: { host: "localhost:8080" } });
	expect(local.headers["strict-transport-security"]).toBeUndefined();
	await expect(ask(url, { ca: readFileSync(certificate(path, "two").cert, "utf8") })).rejects.toThrow(
		/self-signed|unable to verify/,
	);
	const plain = await fetch(`${url.replace("https:", "http:")}/v1/keys`);
	expect([plain.status, await plain.json()]).toEqual([
		400,
		{ error: expect.stringContaining("accepts https only"), code: "https_only" },
	]);
	// OpenSSL's own security level refuses older versions too: a handshake would show that only.
	expect((await readCertificate(files, Date.now())).options.minVersion).toBe("TLSv1.2");
	expect((await ask(url, { ca })).status).toBe(200);
});

it("D34: a renewed certificate is used within a minute; of files that do not fit, none is", async (test) => {
	const path = place(test);
	const [files, renewed] = [certificate(path, "one"), certificate(path, "two")];
	const former = readFileSync(files.cert, "utf8");
	const { url, clock, events } = await start(test, path, files);
	const failed = nextEvent(events, "certificate.failed");
	const [cert, key] = [readFileSync(renewed.cert, "utf8"), readFileSync(renewed.key, "utf8")];
	writeFileSync(files.cert, cert);
	await clock.advance(60_000);
	expect((await failed).reason).toMatch(/does not belong to the certificate/);
	expect((await ask(url, { ca: former })).name).toBe("one");
	const reloaded = nextEvent(events, "certificate.reloaded");
	writeFileSync(files.key, key);
	await clock.advance(60_000);
	await reloaded;
	expect((await ask(url, { ca: cert })).name).toBe("two");
});

it("D34: a service as a process reads the files at once on SIGHUP, and goes on when they do not fit", async (test) => {
	const at = folder();
	test.onTestFinished(at.remove);
	const [files, renewed] = [certificate(at.path, "one"), certificate(at.path, "two")];
	const service = await spawnService({
		in: at,
		endpoints: {},
		env: { SLUICE_TLS_CERT: files.cert, SLUICE_TLS_KEY: files.key },
	});
	test.onTestFinished(() => void service.end("SIGKILL"));
	const [former, cert] = [files.cert, renewed.cert].map((path) => readFileSync(path, "utf8"));
	writeFileSync(files.cert, cert!);
	service.child.kill("SIGHUP");
	await until("the report", () => service.stderr().includes("does not belong to the certificate"));
	expect((await ask(service.url, { ca: former! })).name).toBe("one");
	writeFileSync(files.key, readFileSync(renewed.key));
	service.child.kill("SIGHUP");
	await until("the new files", () => service.stderr().includes("was read again"));
	expect((await ask(service.url, { ca: cert! })).name).toBe("two");
	expect(await service.end()).toBe(0);
});

it("D34: files that cannot be used are refused with a sentence", async (test) => {
	const path = place(test);
	const [one, two] = [certificate(path, "one"), certificate(path, "two")];
	const fault = async (files: object, now = Date.now()) => {
		try {
			await readCertificate({ ...one, ...files }, now);
			return "none";
		} catch (error) {
			return (error as Error).message;
		}
	};
	writeFileSync(join(path, "text"), "no certificate");
	expect(await fault({})).toBe("none");
	expect(await fault({ cert: join(path, "none") })).toMatch(/certificate file \S+none does not exist/);
	expect(await fault({ key: path })).toMatch(/key file \S+ cannot be read: EISDIR/);
	expect(await fault({ cert: join(path, "text") })).toMatch(/does not contain a certificate in PEM form/);
	expect(await fault({ key: join(path, "text") })).toMatch(/does not contain a private key/);
	expect(await fault({ key: two.key })).toMatch(/does not belong to the certificate/);
	expect(await fault({}, Date.now() + 31 * 86_400_000)).toMatch(/expired on/);
	const level = async (days: number) => (await certificateFinding(one, Date.now() + days * 86_400_000)).level;
	expect([await level(0), await level(20), await level(31)]).toEqual(["ok", "warning", "problem"]);
	expect(
		loadConfig({ modules: MODULES, flags: { "tls-cert": "c" }, env: {}, cwd: path, readFile: () => undefined }),
	).toMatchObject({
		ok: false,
		problems: [expect.stringContaining("must be set together")],
	});
});

it("D36, D34: commands accept the certificate in SLUICE_CA", async (test) => {
	const path = place(test);
	const files = certificate(path, "one");
	const { url } = await start(test, path, files);
	const env = { SLUICE_URL: url, SLUICE_API_KEY: KEY };
	const refused = await sluice(test, ["endpoints", "list"], { cwd: path, env });
	expect(refused.code).toBe(1);
	expect(
		await sluice(test, ["endpoints", "list"], {
			cwd: path,
			env: { ...env, SLUICE_CA: files.cert },
		}),
	).toMatchObject({ code: 0 });
});

/** Polls of RunPod's SDK go through Python's ssl (aiohttp), pings through requests. */
const CALL = `import json, ssl, sys, urllib.request
def done(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__
url = sys.argv[1]
def by_requests():
    import requests
    return requests.get(url).status_code
context = ssl.create_default_context()
print(json.dumps([
    done(lambda: urllib.request.urlopen(url, context=context).status),
    done(by_requests),
]))`;

const python = spawnSync("python3", ["-c", "import requests"]).status === 0;

it.skipIf(!python)(
	`D34: Python's ssl and requests take the authority of the guide's variables${python ? "" : " (no requests here)"}`,
	async (test) => {
		const path = place(test);
		const files = certificate(path, "one");
		const { url } = await start(test, path, files);
		const ask = async (env: Record<string, string>): Promise<unknown> => {
			const { stdout } = await promisify(execFile)("python3", ["-c", CALL, `${url}/healthz`], {
				env: { PATH: process.env["PATH"], ...env },
			});
			return JSON.parse(stdout);
		};
		expect(await ask({})).toEqual(["URLError", "SSLError"]);
		expect(await ask({ SSL_CERT_FILE: files.cert })).toEqual([200, "SSLError"]);
		const both = { SSL_CERT_FILE: files.cert, REQUESTS_CA_BUNDLE: files.cert };
		expect(await ask(both)).toEqual([200, 200]);
	},
);
