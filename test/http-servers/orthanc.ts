/** Orthanc, a server of medical pictures (DICOM) with jobs of its own, as an HTTP worker. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/until.ts";
import { PROGRAMS } from "./programs.ts";

/** Where Orthanc sends copies of its pictures. */
export interface Peer {
	url: string;
}

/** Writes a configuration whose store is in `folder`, and returns the command. Its port is the variable PORT. */
export function orthancCommand(folder: string, peer?: Peer): string[] {
	const store = join(folder, "orthanc");
	mkdirSync(store, { recursive: true });
	const config = join(folder, "orthanc.json");
	const members = {
		StorageDirectory: store,
		IndexDirectory: store,
		DicomServerEnabled: false,
		RemoteAccessAllowed: false,
		HttpPort: "PORT",
		ConcurrentJobs: 8,
		// It forgets older jobs, and their results. The default is 10.
		JobsHistorySize: 1000,
		// After a crash it would do them again, beside those that the service repeats.
		SaveJobs: false,
		...(peer && { OrthancPeers: { peer: [peer.url] } }),
	};
	writeFileSync(config, JSON.stringify(members, undefined, "\t").replace('"PORT"', "$" + "{PORT}"));
	return [PROGRAMS.orthanc, config];
}

const ASYNCHRONOUS = {
	path: "/jobs/{submit.ID}",
	everyMs: 50,
	state: "/State",
	done: ["Success"],
	failed: ["Failure"],
};

const SHARED = {
	ready: { path: "/system", everyMs: 50 },
	failed: [{ at: "/State", in: ["Failure"], message: "/ErrorDescription" }],
	progress: { from: "poll", percent: "/Progress", everyMs: 10 },
	cancel: { path: "/jobs/{submit.ID}/cancel" },
};

/** Mapping of jobs `{resources}`, whose output is a zip file. */
export const ARCHIVES = {
	...SHARED,
	request: { path: "/tools/create-archive", body: { Resources: "{input.resources}", Asynchronous: true } },
	async: { ...ASYNCHRONOUS, result: { path: "/jobs/{submit.ID}/archive" } },
};

/** Mapping of jobs `{resources}`, which are copied to the peer one by one. */
export const COPIES = {
	...SHARED,
	request: { path: "/peers/peer/store", body: { Resources: "{input.resources}", Asynchronous: true } },
	async: ASYNCHRONOUS,
	answer: { at: "/Content" },
};

/** Fills the store of a command with pictures, and returns their ids. Orthanc has ended then. */
export async function withPictures(command: readonly string[], count: number): Promise<string[]> {
	const port = await freePort();
	const [program = "", ...args] = command;
	const child = spawn(program, args, { env: { ...process.env, PORT: String(port) }, stdio: "ignore" });
	const ended = once(child, "exit");
	const at = `http://127.0.0.1:${port}`;
	try {
		await until("Orthanc to be ready", async () => (await fetch(`${at}/system`)).ok);
		const ids: string[] = [];
		for (let number = 0; number < count; number += 1) {
			const body = JSON.stringify({ Tags: { PatientName: "Test", InstanceNumber: String(number) }, Content: PICTURE });
			const answer = await fetch(`${at}/tools/create-dicom`, { method: "POST", body });
			ids.push(((await answer.json()) as { ID: string }).ID);
		}
		return ids;
	} finally {
		child.kill();
		await ended;
	}
}

/** A grey pixel. */
const PICTURE =
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
