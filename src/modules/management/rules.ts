/** Rules of the settings `management`: what the management API may use (D49). */
import type { LauncherSettings } from "../../kernel/core/endpoints/endpoint.ts";
import { listText } from "../../kernel/lib/schema.ts";

export interface ManagementRules {
	/** How new endpoints get their workers; the request names image and command. Absent: none can be created. */
	launcher?: LauncherSettings | undefined;
	/** Images that may be used, `*` standing for any characters. Absent: all. */
	images?: readonly string[] | undefined;
	/** Folders, volumes and claims that exist and that may be used. */
	volumes?: readonly string[] | undefined;
}

/** What can name another place behind an allowed begin: `..`, and the registry and user of enroot. */
const ELSEWHERE = /[#@]|(?:^|\/)\.\.(?:\/|$)/;
const DIGEST = /@sha256:[0-9a-f]{64}$/;

/** Whether one of the patterns matches the whole image. */
export function allowsImage({ images }: ManagementRules, image: string): boolean {
	if (images === undefined || images.includes(image)) return true;
	return !ELSEWHERE.test(image.replace(DIGEST, "")) && images.some((pattern) => matches(pattern, image));
}

function matches(pattern: string, text: string): boolean {
	const [first = "", ...parts] = pattern.split("*");
	const last = parts.pop();
	if (last === undefined) return text === pattern;
	if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
	let at = first.length;
	for (const part of parts) {
		const found = text.indexOf(part, at);
		if (found < 0) return false;
		at = found + part.length;
	}
	return at <= text.length - last.length;
}

/** Says why workers of this launcher do not pull with a registry login. */
export function loginFault(launcher: string): string | undefined {
	return launcher === "docker" ? undefined : (LOGINS[launcher] ?? "must be null: this launcher pulls no images.");
}

const LOGINS: Readonly<Record<string, string>> = {
	kubernetes:
		"must be null: nodes of Kubernetes pull images with a Secret of the namespace. Name it in " +
		"management.launcher.imagePullSecrets in sluice.yaml, or in launcher.imagePullSecrets over /v1.",
	slurm:
		"must be null: nodes of Slurm pull images with the credentials of the user. Log in there, such as with " +
		"'apptainer registry login'.",
};

type Found = { ok: true; source: string | undefined } | { ok: false; message: string };

/** `source`: undefined for a new volume, which the launcher makes at its first use. */
export function sourceOf(name: string, { launcher, volumes = [] }: ManagementRules): Found {
	if (volumes.includes(name)) return { ok: true, source: name };
	if (launcher === undefined)
		return {
			ok: false,
			message: "cannot be used: set management.launcher in the configuration to docker, kubernetes or slurm.",
		};
	if (launcher.type !== "kubernetes") return { ok: true, source: undefined };
	const choice = volumes.length === 0 ? "cannot be used" : `must be ${listText(volumes)}`;
	return {
		ok: false,
		message: `${choice}: a volume is a claim that exists and that management.volumes names; add it there.`,
	};
}

/** The name of a new volume at its launcher. */
export function newVolumeName(id: string): string {
	return `sluice-${id}`;
}
