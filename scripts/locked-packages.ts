/** Packages of `package-lock.json`: those that a release contains. */
import { readFileSync } from "node:fs";

export interface LockedPackage {
	version: string;
	license?: string;
	dev?: boolean;
	devOptional?: boolean;
	dependencies?: Record<string, string>;
}

/** By path. */
export type LockedPackages = ReadonlyMap<string, LockedPackage>;

const FOLDER = "node_modules/";

/**
 * What the build puts into the service: only a small part of each is used (docs/decisions/0055), or it is loaded only
 * where alerts are mailed or forms arrive.
 */
const BUNDLED = [
	"@fastify/busboy",
	"nodemailer",
	"@opentelemetry/api",
	"@opentelemetry/exporter-trace-otlp-proto",
	"@opentelemetry/resources",
	"@opentelemetry/sdk-trace",
];

export function lockedPackages(): LockedPackages {
	const lock = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8")) as {
		packages: Record<string, LockedPackage>;
	};
	return new Map(Object.entries(lock.packages).filter(([path]) => path.startsWith(FOLDER)));
}

export function nameOf(path: string): string {
	return path.slice(path.lastIndexOf(FOLDER) + FOLDER.length);
}

/** Paths of the packages of the service: installed with it, or bundled. */
export function ofService(all: LockedPackages): Set<string> {
	const installed = [...all].flatMap(([path, { dev, devOptional }]) => (dev || devOptional ? [] : [path]));
	return new Set([...installed, ...closure(all, BUNDLED)]);
}

/** Paths of these packages and of what they depend on. */
export function closure(all: LockedPackages, names: readonly string[]): Set<string> {
	const found = new Set<string>();
	const add = (path: string): void => {
		const locked = all.get(path);
		if (!locked || found.has(path)) return;
		found.add(path);
		for (const name of Object.keys(locked.dependencies ?? {})) add(pathFrom(all, path, name));
	};
	for (const name of names) add(FOLDER + name);
	return found;
}

/** Path of a package as seen from another: Node's search from folder to folder. */
function pathFrom(all: LockedPackages, from: string, name: string): string {
	for (let at = from; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf(`/${FOLDER}`)))) {
		const nested = `${at}/${FOLDER}${name}`;
		if (all.has(nested)) return nested;
	}
	return FOLDER + name;
}
