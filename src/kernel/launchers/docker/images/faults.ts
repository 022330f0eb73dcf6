/** Explains why an image cannot be pulled. */
import { imageName } from "../../../core/access/image-name.ts";

export interface FailedPull {
	image: string;
	/** Docker's words, which contain those of the registry. */
	text: string;
	username?: string | undefined;
	/** Id of a login of the management API, whose user is not shown. */
	login?: string | undefined;
	where?: string | undefined;
}

type Sentence = (q: FailedPull & { registry: string }) => string;

/** The first match counts, so certificates and disks stand before patterns that only mention the network. */
const FAULTS: readonly (readonly [RegExp, Sentence])[] = [
	[
		/no space left on device|disk quota exceeded/i,
		({ image, where = "" }) =>
			`the disk of Docker${where} is full: there is no room for image ${image}; ` +
			"'docker system df' shows what uses it, 'docker image prune --all' removes unused images",
	],
	[
		/toomanyrequests|too many requests|rate limit/i,
		({ registry, username, text }) =>
			`the registry ${registry} allows no more pulls for now` +
			(username === undefined ? `; with credentials it may allow more: sluice registries login ${registry}` : "") +
			` (${text})`,
	],
	[
		/manifest unknown|manifest for \S+ not found|name unknown|repository name not known|no matching manifest/i,
		({ image, registry, text }) =>
			/no matching manifest/i.test(text)
				? `image ${image} is not made for the processor of this host (${text})`
				: `there is no image ${image} in the registry ${registry}; check its name and its tag (${text})`,
	],
	[
		/unauthorized|denied|authentication required|no basic auth|forbidden|\b40[13]\b/i,
		({ image, registry, username, login }) =>
			login !== undefined
				? `the registry ${registry} refuses image ${image} to the login ${login} of launcher.registry: wrong ` +
					"password, or no access to this image; POST /v2/registries makes another login"
				: username === undefined
					? `the registry ${registry} refuses image ${image} without credentials, or there is no such ` +
						`image; to set them: sluice registries login ${registry}`
					: `the registry ${registry} refuses image ${image} to user ${username}: wrong password, or no ` +
						`access to this image; to replace them: sluice registries login ${registry}`,
	],
	[
		/server gave HTTP response to HTTPS client/i,
		({ registry, where = "" }) =>
			`the registry ${registry} speaks plain HTTP; add it to "insecure-registries" in ` +
			`/etc/docker/daemon.json${where}`,
	],
	[
		/x509|certificate/i,
		({ registry, where = "", text }) =>
			`Docker${where} does not trust the certificate of the registry ${registry}; put its CA into ` +
			`/etc/docker/certs.d/${registry}/ca.crt (${text})`,
	],
	[
		new RegExp(
			"dial tcp|connection re(fused|set)|no such host|server misbehaving|unreachable|" +
				"time(out|d out)|deadline exceeded|request canceled|\\bEOF\\b|\\b50[0-4]\\b",
			"i",
		),
		({ registry, where = "", text }) => `the registry ${registry} cannot be reached by Docker${where} (${text})`,
	],
];

export function pullFault(q: FailedPull): string {
	const { registry } = imageName(q.image);
	const text = q.text.trim();
	const sentence = FAULTS.find(([pattern]) => pattern.test(text))?.[1];
	return sentence?.({ ...q, text, registry }) ?? `image ${q.image} cannot be pulled: ${text}`;
}
