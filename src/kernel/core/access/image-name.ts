const DOCKER_HUB = "docker.io";

const HUB_NAMES: readonly string[] = ["index.docker.io", "registry-1.docker.io", "hub.docker.com"];

interface ImageName {
	registry: string;
	repository: string;
	/** The digest, else the tag. */
	version: string;
}

export function imageName(text: string): ImageName {
	const [named = "", digest] = text.split("@");
	const colon = named.lastIndexOf(":");
	const isTagged = colon > named.lastIndexOf("/");
	const repository = isTagged ? named.slice(0, colon) : named;
	const [first = "", ...rest] = repository.split("/");
	const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
	return {
		registry: isHost ? registryName(first) : DOCKER_HUB,
		repository,
		version: digest ?? (isTagged ? named.slice(colon + 1) : "latest"),
	};
}

/** Returns host and port of a registry from any of the names that users and Docker's files give it. */
export function registryName(text: string): string {
	const host = text
		.trim()
		.replace(/^https?:\/\//i, "")
		.replace(/\/.*/s, "")
		.toLowerCase();
	return HUB_NAMES.includes(host) ? DOCKER_HUB : host;
}
