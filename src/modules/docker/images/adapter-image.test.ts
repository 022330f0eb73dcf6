/** The import of the adapter's image, by daemons here that answer as a test says. */
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { dockerMachine, type MachineOptions } from "../../../../test/support/docker-machine.ts";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import type { WorkerReason } from "../../../kernel/core/workers/worker-reason.ts";
import { dockerDaemon } from "../daemon.ts";
import { connectionTo } from "../hosts/connection.ts";
import type { AdapterContent } from "./adapter-files.ts";
import { adapterImage } from "./adapter-image.ts";
import { transfers } from "./transfers.ts";

async function image(options: MachineOptions, tar: AdapterContent["tar"] = () => Readable.from([Buffer.from("tar")])) {
	const rig = await dockerMachine(options);
	const daemon = dockerDaemon(connectionTo(rig.docker, { env: {}, secure: false, certificates: undefined }));
	const content = { tag: "0a1b", changes: ["USER 1000:1000"], arch: "x64", tar };
	const shared = transfers(manualClock());
	const where = " on rig1";
	return {
		rig,
		adapter: adapterImage({ daemon: () => daemon, transfers: shared, content: async () => content, where }),
		imports: () => rig.calls.filter((call) => call === "POST /images/create").length,
	};
}

const never = new AbortController().signal;

it("is missing until it was imported, once for all that wait", async () => {
	const tars: string[] = [];
	const both = Promise.withResolvers<void>();
	const { adapter, imports } = await image({
		architecture: "x86_64",
		hasImage: (name) => name === "sluice-adapter:0a1b" && tars.length > 0,
		async imported(tar) {
			await both.promise;
			tars.push(tar.toString());
			return '{"status":"sha256:1"}\n';
		},
	});
	expect([await adapter.name(), await adapter.isMissing()]).toEqual(["sluice-adapter:0a1b", true]);
	const reasons: WorkerReason[] = [];
	const first = adapter.import({ signal: never, onProgress: (reason) => reasons.push(reason) });
	const second = adapter.import({ signal: never, onProgress: () => both.resolve() });
	await Promise.all([first, second]);
	expect([imports(), tars, await adapter.isMissing()]).toEqual([1, ["tar"], false]);
	expect(reasons[0]).toEqual({ code: "image_pull", message: "Importing the adapter's image on rig1.", progress: 0 });
});

it.each<[string, MachineOptions, string]>([
	[
		"a line with an error",
		{ imported: async () => '{"error":"no space left on device"}\n' },
		"no space left on device",
	],
	[
		"another processor",
		{ architecture: "aarch64" },
		"it is made of the Node of this service, for x64, and the processor there is aarch64; " +
			"set launcher.adapterImage to an image with sluice-http for it, such as Sluice's own",
	],
])("fails with %s, and is tried again", async (_, options, sentence) => {
	const { adapter } = await image(options);
	for (let tries = 0; tries < 2; tries += 1)
		await expect(adapter.import({ signal: never })).rejects.toThrow(
			`the adapter's image cannot be imported on rig1: ${sentence}`,
		);
});

it("fails with the error of a file that cannot be read", async () => {
	const broken = new Readable({ read: () => void broken.destroy(new Error("ENOENT: libc.so.6")) });
	const { adapter } = await image({ architecture: "amd64" }, () => broken);
	await expect(adapter.import({ signal: never })).rejects.toThrow("cannot be imported on rig1: ENOENT: libc.so.6");
});

it("ends when no worker waits for it any more", async () => {
	const stop = new AbortController();
	const closed = Promise.withResolvers<void>();
	const endless = new Readable({ read: () => stop.abort(new Error("stopped")) });
	endless.once("close", closed.resolve);
	const { adapter } = await image({}, () => endless);
	await expect(adapter.import({ signal: stop.signal })).rejects.toThrow("stopped");
	await closed.promise;
});
