/** Builds the image of a repository with the Docker daemon that `DOCKER_HOST` names (D36). */
import { jsonLines } from "../../platform-streams.ts";
import { reasonText } from "../../../core/workers/worker-reason.ts";
import type { ImageBuild } from "../../definition.ts";
import { dockerDaemon, sentenceOf, statusOf } from "../daemon.ts";
import { connectionOf } from "../hosts/connection.ts";
import { buildContext } from "./build-context.ts";
import { type BuildLine, buildProgress } from "./build-progress.ts";
import { dockerImages } from "./images.ts";

const LOG_LINES = 20;

/** Throws an Error with a sentence and the last output of the step that failed. */
export async function buildImage({ clock, env, onProgress, ...q }: ImageBuild): Promise<void> {
	const daemon = dockerDaemon(connectionOf(env));
	const images = dockerImages({ clock, daemon: () => daemon });
	const { signal } = new AbortController();
	const progress = buildProgress();
	try {
		// A build without the session of Docker's own client uses the images that the daemon has.
		for (const image of q.bases) {
			if (!(await images.mustPull(image, "missing"))) continue;
			await images.pull(image, {
				signal,
				onProgress: (reason) => onProgress({ step: reasonText(reason), done: 0, total: 0 }),
			});
		}
		const context = buildContext(q.folder, q.dockerfile);
		const answer = await daemon.build({ image: q.image, dockerfile: q.dockerfile, context, signal });
		for await (const line of jsonLines<BuildLine>(answer, "the Docker daemon")) {
			const state = progress.read(line);
			if (line.error !== undefined) throw new FailedBuild(line.error);
			onProgress(state);
		}
	} catch (error) {
		const isOwn = error instanceof FailedBuild || statusOf(error) !== undefined;
		const reason = isOwn
			? (error as Error).message.trim()
			: sentenceOf(error, { address: daemon.address, fix: "set DOCKER_HOST" });
		const log = progress.log().trimEnd().split("\n").slice(-LOG_LINES).join("\n");
		throw new Error(
			`${log === "" ? "" : `${log}\n`}The image ${q.image} was not built: ${reason.replace(/\.$/, "")}.`,
			{ cause: error },
		);
	} finally {
		images.close();
		daemon.close();
	}
}

class FailedBuild extends Error {}
