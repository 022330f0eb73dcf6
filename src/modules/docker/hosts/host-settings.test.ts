/** `hosts` in `sluice.yaml`: what is refused, with which sentence (D44). */
import { MODULES } from "../../index.ts";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../kernel/config/config.ts";

function load(file: object, flags: Record<string, string> = {}) {
	return loadConfig({
		modules: MODULES,
		flags: { config: "/x/sluice.yaml", ...flags },
		env: {},
		cwd: "/x",
		readFile: () => JSON.stringify(file),
	});
}

function problems(file: object, flags?: Record<string, string>): string[] {
	const loaded = load(file, flags);
	return loaded.ok ? [] : loaded.problems;
}

const publicUrl = "http://10.0.0.5:8080";
const tls = { ca: "tls/ca.pem", cert: "/abs/cert.pem", key: "key.pem" };

describe("hosts", () => {
	it("D44: none by default; a lost host is given up after 5 min", () => {
		const loaded = load({});
		expect(loaded.ok && loaded.config.launchers["docker"]).toEqual({ hosts: {}, lostAfterMs: 300_000 });
	});

	it("D44: are read with absolute paths, and addresses without a slash at the end", () => {
		const loaded = load({
			hostTimeout: 60,
			hosts: {
				rig1: { docker: "ssh://me@rig1", workerUrl: "http://10.0.0.5:8080/", labels: ["small"] },
				rig2: { docker: "tcp://rig2:2376", tls, workerUrl: "http://10.0.0.6:8080" },
				local: {},
			},
		});
		expect(loaded.ok && loaded.config.launchers["docker"]).toEqual({
			lostAfterMs: 60_000,
			hosts: {
				rig1: { docker: "ssh://me@rig1", workerUrl: "http://10.0.0.5:8080", labels: ["small"] },
				rig2: {
					docker: "tcp://rig2:2376",
					tls: { ca: "/x/tls/ca.pem", cert: "/abs/cert.pem", key: "/x/key.pem" },
					workerUrl: "http://10.0.0.6:8080",
				},
				local: {},
			},
		});
	});

	it.each<[object, string]>([
		[{ "rig 1": {} }, "hosts.rig 1 has an invalid name: it must be 1 to 63 of the characters"],
		[{ rig1: { docker: "rig1" } }, "hosts.rig1.docker must be ssh://user@host, tcp://host:2376"],
		[{ rig1: { dokcer: "ssh://rig1" } }, "hosts.rig1.dokcer is unknown; did you mean docker?"],
		[{ rig1: {} }, "hosts.rig1.docker is missing; it must be ssh://user@host"],
		[{ rig1: { docker: "ssh://me:secret@rig1" } }, "hosts.rig1.docker must not contain a password"],
		[{ rig1: { docker: "ssh://rig1", tls } }, "hosts.rig1.tls is for tcp:// only."],
		[
			{ rig1: { docker: "tcp://rig1:2375" } },
			"hosts.rig1.docker is tcp:// without tls: everyone in that network can control the machine. " +
				"Set hosts.rig1.tls, use ssh://, or set hosts.rig1.insecure: true.",
		],
		[{ rig1: { docker: "ssh://rig1", gpus: [{ id: "G", model: "L4" }] } }, "hosts.rig1.gpus.0.memoryGb"],
		[{ rig1: { docker: "ssh://rig1", workersMax: 0 } }, "hosts.rig1.workersMax must be a whole"],
		[{ local: { docker: "unix:///x" } }, "hosts.local is the daemon of DOCKER_HOST: set that"],
	])("D44: refuses %j", (hosts, sentence) => {
		expect(problems({ publicUrl, hosts })).toEqual([expect.stringContaining(sentence)]);
	});

	it.each([{ docker: "tcp://127.0.0.1:2375" }, { docker: "tcp://rig1:2375", insecure: true }])(
		"D44: accepts tcp without tls on this machine or by request: %j",
		(rig1) => expect(problems({ publicUrl, hosts: { rig1 } })).toEqual([]),
	);

	it("D44: needs an address that workers on other machines reach", () => {
		const hosts = { rig1: { docker: "ssh://rig1" } };
		const sentence = expect.stringContaining(
			"hosts.rig1 needs hosts.rig1.workerUrl or publicUrl: the address at which workers there reach",
		);
		expect(problems({ hosts })).toEqual([sentence]);
		expect(problems({ hosts }, { host: "0.0.0.0" })).toEqual([sentence]);
		expect(problems({ hosts }, { host: "192.168.1.10" })).toEqual([]);
		expect(problems({ hosts: { here: { docker: "unix:///x" } } })).toEqual([]);
	});

	it("D44: GPUs of this machine are assigned by number or by id, not both", () => {
		expect(problems({ gpus: 2, hosts: { local: {} } })).toEqual([
			expect.stringContaining("hosts.local and gpus must not both be set"),
		]);
	});

	it("D44: an endpoint that names a host or label that does not exist", () => {
		const launcher = { type: "docker", image: "ocr:1", hosts: ["rig1", "big", "rig9", "local"] };
		const hosts = { rig1: { docker: "ssh://rig1", labels: ["big"] } };
		expect(problems({ publicUrl, hosts, endpoints: { ocr: { launcher } } })).toEqual([
			"/x/sluice.yaml: endpoints.ocr.launcher.hosts names rig9, and no host has that name or label; " +
				"known are local, rig1, big.",
		]);
	});
});
