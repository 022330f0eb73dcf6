/** Volumes of process workers: folders of this machine, at their paths by symbolic links. */
import { chownSync, existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, symlinkSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import type { ProcessSettings } from "./settings.ts";

/**
 * Makes each volume visible at its path, once for all workers. `volumeDir`: for those with a name.
 * `owner`: of a folder that is created. Throws an Error whose message ends a sentence.
 */
export function linkVolumes(
	{ volumes = [] }: Pick<ProcessSettings, "volumes">,
	{ volumeDir, owner }: { volumeDir: string; owner?: { uid: number; gid: number } | undefined },
): void {
	for (const text of volumes) {
		const [source = "", path = ""] = text.split(":");
		const isNamed = !isAbsolute(source);
		const folder = isNamed ? resolve(volumeDir, source) : source;
		if (isNamed && !existsSync(folder)) {
			mkdirSync(folder, { recursive: true, mode: 0o700 });
			if (owner) chownSync(folder, owner.uid, owner.gid);
		}
		if (!existsSync(folder)) throw new Error(`the folder ${folder} of launcher.volumes does not exist`);
		if (!isAt(path, folder)) link(folder, path);
	}
}

function isAt(path: string, folder: string): boolean {
	return existsSync(path) && realpathSync(path) === realpathSync(folder);
}

function link(folder: string, path: string): void {
	const present = lstatSync(path, { throwIfNoEntry: false });
	if (present) {
		const what = present.isSymbolicLink() ? `a link to ${readlinkSync(path)}` : "something else";
		throw new Error(
			`${path} of launcher.volumes is ${what}, not a link to ${folder}: remove it, or remove the volume ` +
				"from launcher.volumes to use what is there",
		);
	}
	try {
		symlinkSync(folder, path);
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		const fix = code === "ENOENT" ? `create the folder ${dirname(path)}` : `run once: sudo ln -s '${folder}' '${path}'`;
		throw new Error(`a link at ${path} to ${folder} cannot be created (${code}): ${fix}`, {
			cause: error,
		});
	}
}
