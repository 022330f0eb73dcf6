/** The adapter's image on one daemon: imported once for each version of the service and of Node (decision 0061). */
import { jsonLines } from "../../../kernel/launchers/platform-streams.ts";
import type { Daemon } from "../daemon.ts";
import { sentenceOf, statusOf } from "../daemon-calls.ts";
import type { AdapterContent } from "./adapter-files.ts";
import { isPresent } from "./images.ts";
import type { Transfer, Transfers, Waiter } from "./transfers.ts";

export type AdapterImage = ReturnType<typeof adapterImage>;

const REPOSITORY = "sluice-adapter";

/** Processors as Linux names them, by Node's names. */
const PROCESSORS: Readonly<Record<string, readonly string[]>> = {
	x64: ["x86_64", "amd64"],
	arm64: ["aarch64", "arm64"],
};

interface AdapterImageOptions {
	daemon: () => Daemon;
	transfers: Transfers;
	/** Rejects with a sentence if there is none. */
	content: () => Promise<AdapterContent>;
	where?: string;
}

export function adapterImage({ daemon, transfers, content, where = "" }: AdapterImageOptions) {
	function importOf({ tag, changes, arch, ...made }: AdapterContent): Transfer {
		let part = 0;
		return {
			key: `import ${tag}`,
			title: `the import of the adapter's image${where}`,
			reason: () => ({
				code: "image_pull",
				message: `Importing the adapter's image${where}.`,
				progress: Math.floor(100 * part),
			}),
			async run({ signal, moved }) {
				await requireProcessor(arch);
				const tar = made.tar((sent) => {
					part = sent;
					moved();
				});
				try {
					const q = { repository: REPOSITORY, version: tag, changes, content: tar, signal };
					const lines = jsonLines<{ error?: string }>(await daemon().import(q), `the Docker daemon${where}`);
					for await (const { error } of lines) if (error !== undefined) throw new ImportError(error);
				} finally {
					tar.destroy();
				}
			},
			faultOf(error) {
				const isAnswer = error instanceof ImportError || statusOf(error) !== undefined;
				const text = isAnswer ? (error as Error).message.trim() : sentenceOf(error, daemon());
				return `the adapter's image cannot be imported${where}: ${text}`;
			},
		};
	}

	/** Throws an Error if the daemon's machine has another processor than this one. */
	async function requireProcessor(arch: string): Promise<void> {
		const { Architecture: there } = await daemon().info();
		if (there === undefined || there === arch || PROCESSORS[arch]?.includes(there) === true) return;
		throw new ImportError(
			`it is made of the Node of this service, for ${arch}, and the processor there is ${there}; ` +
				"set launcher.adapterImage to an image with sluice-http for it, such as Sluice's own",
		);
	}

	return {
		/** Rejects with a sentence if it cannot be made. */
		name: async () => `${REPOSITORY}:${(await content()).tag}`,
		/** Rejects with a sentence if it cannot be made, or the daemon does not answer. */
		isMissing: async () => !(await isPresent(daemon(), `${REPOSITORY}:${(await content()).tag}`)),
		/** Joins the import in progress or begins one. Rejects if it fails or the signal aborts. */
		async import(waiter: Waiter): Promise<void> {
			await transfers.join(importOf(await content()), waiter);
		},
	};
}

class ImportError extends Error {}

/** Reads what the image is made of when it is first needed. A failure is tried again. */
export function lazyContent(): () => Promise<AdapterContent> {
	let content: Promise<AdapterContent> | undefined;
	return () => {
		content ??= import("./adapter-files.ts")
			.then((files) => files.adapterContent())
			.catch((error: unknown) => {
				content = undefined;
				throw error;
			});
		return content;
	};
}
