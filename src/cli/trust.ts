/** Which certificates commands accept from the service. */
import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { CliError } from "./errors.ts";

/** Those of Node and of the system, and of the PEM file in `SLUICE_CA`. Throws {@link CliError}. */
export function trustService(env: Readonly<Record<string, string | undefined>>): void {
	const path = env["SLUICE_CA"];
	if (!path) return;
	try {
		setDefaultCACertificates([
			...getCACertificates("default"),
			...getCACertificates("system"),
			readFileSync(path, "utf8"),
		]);
	} catch (error) {
		throw new CliError(`SLUICE_CA: ${path} cannot be used: ${(error as Error).message}.`);
	}
}
