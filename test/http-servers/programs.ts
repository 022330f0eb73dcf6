/** Programs of Debian that are HTTP servers. Tests of one that is missing are skipped, and say so. */
import { existsSync } from "node:fs";

/** Debian's packages and a file of each. */
export const PROGRAMS = {
	orthanc: "/usr/sbin/Orthanc",
	aria2: "/usr/bin/aria2c",
	"apertium-apy": "/usr/bin/apertium-apy",
	"apertium-eng-spa": "/usr/share/apertium/modes/eng-spa.mode",
	"python3-fastapi": "/usr/lib/python3/dist-packages/fastapi/__init__.py",
	"python3-multipart": "/usr/lib/python3/dist-packages/multipart/__init__.py",
	uvicorn: "/usr/bin/uvicorn",
} as const;

/** Why servers of these packages cannot run here. */
export function lacking(...packages: (keyof typeof PROGRAMS)[]): string | undefined {
	const absent = packages.filter((name) => !existsSync(PROGRAMS[name]));
	return absent.length === 0 ? undefined : `without Debian's ${absent.join(" and ")}`;
}

/** A title that names what is missing. */
export function titled(title: string, reason: string | undefined): string {
	return reason === undefined ? title : `${title} (skipped: ${reason})`;
}
