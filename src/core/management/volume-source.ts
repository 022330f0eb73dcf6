/** What a network volume is for the launcher: something that the configuration names, or a new volume. */
import { alternatives } from "../../lib/schema.ts";

/** Part of the option `management`. */
export interface VolumeRules {
	launcher?: string | undefined;
	/** Folders, volumes and claims that exist; `*`: new ones too. Absent: new ones only. */
	volumes?: readonly string[] | undefined;
}

const ANY = "*";

type Found = { ok: true; source: string | undefined } | { ok: false; message: string };

/** `source`: undefined for a new volume, which the launcher makes at its first use. A folder goes by its last part. */
export function sourceOf(name: string, { launcher, volumes }: VolumeRules): Found {
	const listed = volumes?.filter((entry) => entry !== ANY) ?? [];
	const source = listed.find((entry) => entry === name || nameOf(entry) === name);
	if (source !== undefined) return { ok: true, source };
	const names = listed.map(nameOf);
	const choice = names.length === 0 ? "" : `must be ${alternatives(names)}: `;
	if (launcher === "kubernetes")
		return {
			ok: false,
			message:
				`${choice || "cannot be used: "}a volume is a claim that exists and that management.volumes names; ` +
				"add it there.",
		};
	if (volumes !== undefined && !volumes.includes(ANY))
		return { ok: false, message: `${choice || "cannot be used: "}management.volumes allows others with * only.` };
	if (launcher === undefined)
		return {
			ok: false,
			message: "cannot be used: set management.launcher in the configuration to docker, kubernetes or slurm.",
		};
	return { ok: true, source: undefined };
}

function nameOf(entry: string): string {
	return entry.split("/").findLast((part) => part !== "") ?? entry;
}

/** The name of a new volume at its launcher. */
export function newVolumeName(id: string): string {
	return `sluice-${id}`;
}
