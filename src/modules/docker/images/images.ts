/** Images that one daemon pulls (D45). */
import { imageName } from "../../../kernel/core/access/image-registry.ts";
import type { LauncherDependencies } from "../../../kernel/launchers/definition.ts";
import { jsonLines } from "../../../kernel/launchers/platform-streams.ts";
import type { Daemon } from "../daemon.ts";
import { sentenceOf, statusOf } from "../daemon-calls.ts";
import type { DockerSettings } from "../settings.ts";
import { type PullLine, pullProgress } from "./progress.ts";
import { pullFault } from "./pull-texts.ts";
import type { Transfer, Transfers, Waiter } from "./transfers.ts";

export type Images = ReturnType<typeof dockerImages>;

/** Settings of a pull. */
export type ImageSource = Pick<DockerSettings, "image" | "registry">;

interface ImagesOptions extends Pick<LauncherDependencies, "registryLogin"> {
	daemon: () => Daemon;
	transfers: Transfers;
	where?: string;
}

export function dockerImages({ daemon, transfers, registryLogin, where = "" }: ImagesOptions) {
	const listeners: ((image: string) => void)[] = [];

	function pullOf({ image, registry: id }: ImageSource): Transfer {
		const progress = pullProgress(image, where);
		const { registry, repository, version } = imageName(image);
		let username: string | undefined;
		return {
			key: `${id ?? ""} ${image}`,
			title: `the pull of image ${image}${where}`,
			reason: () => progress.reason(),
			async run({ signal, moved }) {
				const login = await registryLogin?.(registry, id);
				username = login?.username;
				const stream = await daemon().pull({ repository, version, login, signal });
				for await (const line of jsonLines<PullLine>(stream, `the Docker daemon${where}`)) {
					if (line.error !== undefined) throw new PullError(line.error);
					progress.read(line);
					moved();
				}
			},
			faultOf(error) {
				if (!(error instanceof PullError) && statusOf(error) === undefined) return sentenceOf(error, daemon());
				return pullFault({ image, username, login: id, text: (error as Error).message, where });
			},
		};
	}

	return {
		/** Whether the image must be pulled. Throws an Error with a sentence if the daemon does not answer. */
		async mustPull(image: string, policy: DockerSettings["pullPolicy"] = "never"): Promise<boolean> {
			if (policy !== "missing") return policy === "always";
			return !(await isPresent(daemon(), image));
		},

		/** Joins the pull in progress or begins one. Rejects if it fails or the signal aborts. */
		async pull(source: ImageSource, waiter: Waiter): Promise<void> {
			await transfers.join(pullOf(source), waiter, () => {
				for (const listener of listeners) listener(source.image);
			});
		},

		onPull: (listener: (image: string) => void) => void listeners.push(listener),
	};
}

/** Whether the daemon has an image. Throws an Error with a sentence if it does not answer. */
export async function isPresent(daemon: Daemon, image: string): Promise<boolean> {
	try {
		await daemon.image(image);
		return true;
	} catch (error) {
		if (statusOf(error) === 404) return false;
		throw new Error(sentenceOf(error, daemon), { cause: error });
	}
}

class PullError extends Error {}
