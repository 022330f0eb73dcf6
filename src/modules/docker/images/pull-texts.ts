/**
 * Explains messages of Docker, containerd and registries during a pull. A message without a row is passed on unchanged.
 */
import { imageName } from "../../../kernel/core/access/image-registry.ts";

/** Whether a layer is complete, by the status of its lines. Others, such as "Already exists", do not count. */
export const IS_COMPLETE: ReadonlyMap<string, boolean> = new Map([
	["Pulling fs layer", false],
	["Waiting", false],
	["Downloading", false],
	["Verifying Checksum", false],
	["Download complete", true],
	["Extracting", true],
	["Pull complete", true],
]);

export interface FailedPull {
	image: string;
	/** Docker's words, which contain those of the registry. */
	text: string;
	username?: string | undefined;
	/** Id of a login of the management API, whose user is not shown. */
	login?: string | undefined;
	where?: string | undefined;
}

/** What to do about a failed pull. The first match counts. */
const REMEDIES: readonly (readonly [RegExp, (registry: string, q: FailedPull) => string])[] = [
	[
		/no space left on device|disk quota exceeded/i,
		() => "'docker system df' shows what uses its disk, 'docker image prune --all' removes unused images",
	],
	[/toomanyrequests|too many requests|rate limit/i, (registry) => `a login may pull more: ${loginTo(registry)}`],
	[
		/unauthorized|denied|authentication required|no basic auth|forbidden|\b40[13]\b/i,
		(registry, { username, login }) =>
			login !== undefined
				? `the login ${login} of launcher.registry has a wrong password, or no access to this image`
				: username !== undefined
					? `user ${username} has a wrong password, or no access to this image; to replace them: ${loginTo(registry)}`
					: `there is no such image, or it needs a login: ${loginTo(registry)}`,
	],
	[
		/server gave HTTP response to HTTPS client/i,
		(registry) => `add ${registry} to "insecure-registries" in /etc/docker/daemon.json there`,
	],
	[/x509|certificate/i, (registry) => `put the registry's CA into /etc/docker/certs.d/${registry}/ca.crt there`],
];

const loginTo = (registry: string): string => `sluice registries login ${registry}`;

/** Explains why an image cannot be pulled. */
export function pullFault(q: FailedPull): string {
	const text = q.text.trim();
	const remedy = REMEDIES.find(([pattern]) => pattern.test(text))?.[1];
	const { registry } = imageName(q.image);
	return `image ${q.image} cannot be pulled${q.where ?? ""}: ${text}${remedy ? `; ${remedy(registry, q)}` : ""}`;
}
