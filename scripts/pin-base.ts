/**
 * Pins the base image of the Dockerfile to the digest that its tag has now: `npm run pin-base`, or
 * `npm run pin-base -- my-registry/node:24-slim`. Needs Docker, which pulls the image.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const DOCKERFILE = fileURLToPath(new URL("../Dockerfile", import.meta.url));
const COMPOSE = fileURLToPath(new URL("../compose.yaml", import.meta.url));

/** Name and tag without a digest. */
const BASE = /(?<=^ARG BASE=|SLUICE_BASE:-)[^\s@"}]+(?:@sha256:[0-9a-f]{64})?/m;

function docker(...args: string[]): string {
	return execFileSync("docker", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

const present = BASE.exec(readFileSync(DOCKERFILE, "utf8"))?.[0] ?? "";
const tag = process.argv[2] ?? present.replace(/@.*$/, "");
docker("pull", "--quiet", tag);
const digests = JSON.parse(docker("image", "inspect", "--format", "{{json .RepoDigests}}", tag)) as string[];
const digest = digests.map((each) => /@(sha256:[0-9a-f]{64})$/.exec(each)?.[1]).find(Boolean);
if (digest === undefined) throw new Error(`${tag} has no digest: it was not pulled from a registry.`);
for (const path of [DOCKERFILE, COMPOSE]) {
	const text = readFileSync(path, "utf8");
	writeFileSync(path, text.replace(BASE, `${tag}@${digest}`));
}
process.stdout.write(`${tag}@${digest}\n`);
