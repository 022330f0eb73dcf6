/** `--build`: the command `docker` builds the image of a repository's Dockerfile (D36). */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { withoutSecrets } from "../../../kernel/config/options.ts";
import { CliError } from "../../client/errors.ts";

/** The image of an endpoint. Ids that no name of an image can have are hashed, so that no two share one. */
export function imageNameOf(id: string): string {
	const isName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(id);
	return `sluice/${isName ? id : createHash("sha256").update(id).digest("hex").slice(0, 12)}:latest`;
}

/** Docker shows the steps, on a terminal in place. `dockerfile`: relative to the folder. Throws {@link CliError}. */
export async function buildImage(q: { folder: string; dockerfile: string; image: string }): Promise<void> {
	const { folder, dockerfile, image } = q;
	const args = ["build", "-t", image, "-f", join(folder, dockerfile), folder];
	// Its output is not that of the command, which may be JSON.
	const child = spawn("docker", args, { env: withoutSecrets(process.env), stdio: ["ignore", 2, 2] });
	const [code, signal] = (await once(child, "close").catch((error: unknown) => {
		const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
		const why = isMissing ? "is not installed (or not on PATH)" : `cannot be run: ${(error as Error).message}`;
		throw new CliError(`--build runs the command docker, which ${why}. Install it, or pass --image IMAGE.`, 1);
	})) as [number | null, string | null];
	if (code === 0) return;
	const end = code === null ? `killed by ${signal}` : `exit code ${code}`;
	throw new CliError(`The image ${image} was not built: docker build ended: ${end}.`, 1);
}
