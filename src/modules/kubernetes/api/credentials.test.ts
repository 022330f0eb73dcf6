/** Where the cluster is, and the credentials for it. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { connectionOf } from "./credentials.ts";

let folder: string;
const clock = manualClock();
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "sluice-kubeconfig-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
	const path = join(folder, name);
	writeFileSync(path, text);
	return path;
}

function kubeconfig(user: object, cluster: object = {}, name = "config"): string {
	return file(
		name,
		JSON.stringify({
			"current-context": "one",
			clusters: [{ name: "c", cluster: { server: "https://one:6443/", ...cluster } }],
			users: [{ name: "u", user }],
			contexts: [
				{ name: "one", context: { cluster: "c", user: "u", namespace: "jobs" } },
				{ name: "two", context: { cluster: "c2", user: "u" } },
			],
		}),
	);
}

const connect = (path: string, context?: string): ReturnType<typeof connectionOf> =>
	connectionOf({ KUBECONFIG: path, PATH: process.env["PATH"] }, { context, clock });

describe("a kubeconfig", () => {
	it("D25: the current context, or another one; entries of several files", async () => {
		const first = kubeconfig({ token: "t" }, { "certificate-authority-data": "Q0E=" });
		const { credentials, ...rest } = await connect(first);
		expect(rest).toEqual({
			server: "https://one:6443",
			namespace: "jobs",
			ca: "CA",
			serverName: undefined,
			insecure: false,
		});
		expect(await credentials()).toEqual({ token: "t" });
		const clusters = [{ name: "c2", cluster: { server: "https://two", "tls-server-name": "kube" } }];
		const second = file("more", JSON.stringify({ clusters }));
		expect(await connect(`${first}:${second}`, "two")).toMatchObject({
			server: "https://two",
			namespace: "default",
			serverName: "kube",
		});
		await expect(connect(first, "two")).rejects.toThrow(/has no cluster "c2"/);
		await expect(connect(first, "three")).rejects.toThrow(/has no context "three"/);
	});

	it("D25: client certificates, as files next to it or in it", async () => {
		file("cert.pem", "CERT");
		const path = kubeconfig({ "client-certificate": "cert.pem", "client-key-data": "S0VZ" });
		expect(await (await connect(path)).credentials()).toEqual({ cert: "CERT", key: "KEY" });
	});

	it("D25: a token file is read again after a minute, or when the server refuses it", async () => {
		file("token", "first\n");
		const { credentials } = await connect(kubeconfig({ tokenFile: "token" }));
		expect(await credentials()).toEqual({ token: "first" });
		file("token", "second");
		expect(await credentials()).toEqual({ token: "first" });
		expect(await credentials(true)).toEqual({ token: "second" });
		file("token", "third");
		await clock.advance(60_000);
		expect(await credentials()).toEqual({ token: "third" });
	});

	it.each([
		[{ "auth-provider": { name: "gcp" } }, {}, /auth-provider, which is not supported/],
		[{ username: "a", password: "b" }, {}, /username, which is not supported/],
		[{ token: "t" }, { "proxy-url": "http://p" }, /proxy-url, which is not supported/],
		[{ token: "t" }, { server: undefined }, /has no server/],
	])("D25: what is not supported is said: %j %j", async (user, cluster, sentence) => {
		await expect(connect(kubeconfig(user, cluster))).rejects.toThrow(sentence);
	});

	it("says which file cannot be read", async () => {
		await expect(connect(file("bad", "a: ["))).rejects.toThrow(/kubeconfig .*bad cannot be read/);
	});
});

describe("an exec plugin", () => {
	function plugin(script: string): ReturnType<typeof connect> {
		const path = file("plugin", `#!/bin/sh\n${script}`);
		chmodSync(path, 0o755);
		return connect(
			kubeconfig({
				exec: {
					apiVersion: "client.authentication.k8s.io/v1",
					command: "./plugin",
					args: ["x"],
					env: [{ name: "NAME", value: "v" }],
					installHint: "install it",
				},
			}),
		);
	}
	const answer = (status: string): string =>
		`echo run >> ${folder}/runs\ncat <<END\n{"kind":"ExecCredential","status":${status}}\nEND\n`;

	it("D25: is run with its arguments and variables, and again when its token is about to expire", async () => {
		const expires = new Date(clock.wall() + 120_000).toISOString();
		const status = `{"token":"$1-$NAME-$(wc -l < ${folder}/runs)","expirationTimestamp":"${expires}"}`;
		const { credentials } = await plugin(answer(status).replace("<<END", "<<END"));
		const both = await Promise.all([credentials(), credentials()]);
		expect(both).toEqual([{ token: "x-v-1" }, { token: "x-v-1" }]);
		await clock.advance(59_000);
		expect(await credentials()).toEqual({ token: "x-v-1" });
		await clock.advance(2000);
		expect(await credentials()).toEqual({ token: "x-v-2" });
	});

	it("D25: returns certificates too, and its failure names it", async () => {
		const certificate = await plugin(answer('{"clientCertificateData":"C","clientKeyData":"K"}'));
		expect(await certificate.credentials()).toEqual({ cert: "C", key: "K" });
		await expect((await plugin("echo no login >&2; exit 3")).credentials()).rejects.toThrow(
			"the credential plugin ./plugin failed: exit code 3 no login; install it",
		);
		await expect((await plugin(answer("{}"))).credentials()).rejects.toThrow(/neither token nor certificate/);
		await expect((await plugin("exec yes")).credentials()).rejects.toThrow(
			"the credential plugin ./plugin failed: it printed more than 1 MiB; install it",
		);
	});
});

describe("without a kubeconfig", () => {
	it("D25: the service account of the Pod", async () => {
		const podFolder = join(folder, "pod");
		mkdirSync(podFolder);
		for (const [name, text] of [
			["token", "t"],
			["ca.crt", "CA"],
			["namespace", "jobs\n"],
		] as const)
			writeFileSync(join(podFolder, name), text);
		const env = {
			KUBERNETES_SERVICE_HOST: "fd00::1",
			KUBERNETES_SERVICE_PORT: "443",
			HOME: folder,
			HOSTNAME: "sluice-0",
		};
		const { credentials, ...rest } = await connectionOf(env, { clock, podFolder });
		expect(rest).toEqual({
			server: "https://[fd00::1]:443",
			namespace: "jobs",
			ownPod: { namespace: "jobs", name: "sluice-0" },
			ca: "CA",
			insecure: false,
		});
		expect(await credentials()).toEqual({ token: "t" });
	});

	it("says what to do where there is nothing", async () => {
		await expect(connectionOf({ HOME: folder }, { clock })).rejects.toThrow(/set KUBECONFIG/);
	});
});
